// Package terminal tells a terminal from a file, and reads a secret from one
// without showing it.
package terminal

import (
	"context"
	"errors"
	"os"
)

// secretBytesMax bounds a line that is typed or pasted.
const secretBytesMax = 4096

// ErrUnsupported says that this system's terminals cannot be kept from showing
// what is typed.
var ErrUnsupported = errors.New("what is typed cannot be hidden on this terminal")

// ReadSecret reads a line from a terminal, which shows nothing of it. When ctx is
// done before the line is, its error is returned. The terminal shows again what is
// typed, whatever the outcome.
func ReadSecret(ctx context.Context, file *os.File) (string, error) {
	show, err := hide(file)
	if err != nil {
		return "", ErrUnsupported
	}
	defer show()
	type line struct {
		text string
		err  error
	}
	// The reading cannot be called off. It ends with the process.
	read := make(chan line, 1)
	go func() {
		text, err := readLine(file)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads byte by byte, so that what follows the line is left for others.
func readLine(file *os.File) (string, error) {
	var text []byte
	b := make([]byte, 1)
	for len(text) <= secretBytesMax {
		n, err := file.Read(b)
		if n == 1 && b[0] == '\n' {
			return string(text), nil
		}
		if n == 1 && b[0] != '\r' {
			text = append(text, b[0])
		}
		if err != nil {
			return "", err
		}
	}
	return "", errors.New("the line is too long")
}
