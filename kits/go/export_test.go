package leads

// Connections gives how many connections a client has open, or is about to have.
func Connections(c *Client) int {
	c.core.crowd.mu.Lock()
	defer c.core.crowd.mu.Unlock()
	return c.core.crowd.connections
}
