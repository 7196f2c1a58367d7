package leads

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// A guard is a connection of HTTP/1.1 that hands net/http no byte beyond the end of
// an answer. What net/http finds there it writes to the log package's standard
// logger, and a stranger's answer may hold the lead that was sent to it. It also
// sees to it that bytes that came before a request are not taken for its answer.
//
// net/http reads through a buffer of bufferBytes, so it is given a header line by
// line; a body of known length whole; and a chunked one byte by byte, except where
// it reads past its buffer and asks for no more than what is left of the chunk.
type guard struct {
	net.Conn

	mu      sync.Mutex
	turn    int // Counts the requests; see rest.
	phase   phase
	left    int64  // Of a body of known length, when phase is inBody.
	unread  []byte // Came from the connection and was not handed on yet.
	spoiled bool   // Bytes had come before the request: it gets neither sent nor answered.
	wrote   bool   // Bytes of the request went further down.
	buffer  [bufferBytes]byte
}

// bufferBytes is the size of net/http's own buffer, which newTransport sets.
const bufferBytes = 4096

type phase int

const (
	inHead    phase = iota // A header is awaited, or the connection is another protocol's.
	inBody                 // left bytes of a body are awaited.
	inChunks               // A chunked body is awaited.
	untilEnd               // All that comes is body.
	afterward              // Nothing is awaited.
)

var errUnasked = errors.New("leads: bytes came that nobody had asked for")

// begin says that the connection was chosen for a request, and gives its turn.
func (g *guard) begin() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn++
	g.phase = inHead
	g.spoiled = len(g.unread) > 0
	g.wrote = false
	return g.turn
}

// body says what follows the header that net/http has just read.
func (g *guard) body(response *http.Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.phase == afterward:
		// There was no body, and the connection is kept already.
	case response.ContentLength >= 0:
		g.phase, g.left = inBody, response.ContentLength
	case len(response.TransferEncoding) > 0:
		g.phase = inChunks
	default:
		g.phase = untilEnd
	}
}

// rest says that the answer of a turn has been read, before net/http looks for more.
// By then the connection may already have been chosen for the next request.
func (g *guard) rest(turn int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.turn == turn {
		g.phase = afterward
	}
}

// untouched reports that nothing of the request was let through.
func (g *guard) untouched() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.wrote
}

func (g *guard) Write(p []byte) (int, error) {
	g.mu.Lock()
	if wire := wireOf(g.Conn); !g.wrote && g.turn > 1 && wire != nil && wire.pending() {
		g.spoiled = true // What came after the last answer is not read yet.
	}
	spoiled := g.spoiled
	g.wrote = g.wrote || !spoiled
	g.mu.Unlock()
	if spoiled {
		return 0, errUnasked
	}
	return g.Conn.Write(p)
}

// Read is called by one goroutine at a time, net/http's reader of the connection.
func (g *guard) Read(p []byte) (int, error) {
	g.mu.Lock()
	empty := len(g.unread) == 0
	g.mu.Unlock()
	if empty {
		n, err := g.Conn.Read(g.buffer[:])
		if n == 0 {
			return 0, err
		}
		// An error comes again at the next Read.
		g.mu.Lock()
		g.unread = g.buffer[:n]
		g.spoiled = g.spoiled || g.turn > 0 && !g.wrote
		g.mu.Unlock()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.spoiled {
		return 0, io.EOF
	}
	n := min(len(p), len(g.unread))
	switch g.phase {
	case inHead:
		if end := bytes.IndexByte(g.unread[:n], '\n'); end >= 0 {
			n = end + 1
		}
	case inBody:
		n = int(min(int64(n), g.left))
		g.left -= int64(n)
		if n == 0 {
			return 0, io.EOF
		}
	case inChunks:
		if len(p) <= bufferBytes {
			n = min(n, 1)
		}
	case afterward:
		return 0, io.EOF
	}
	copy(p, g.unread[:n])
	g.unread = g.unread[n:]
	return n, nil
}

// NetConn gives the connection below, as in [crypto/tls.Conn.NetConn].
func (g *guard) NetConn() net.Conn { return g.Conn }
