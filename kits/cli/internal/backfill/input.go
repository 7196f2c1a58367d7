package backfill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// An interruptible reader ends with the context's error as soon as that is done, whatever
// the reader below waits for. A read of a terminal or a pipe cannot be called off, so it
// goes on in its own time, into a buffer of its own.
type interruptible struct {
	ctx   context.Context
	input io.Reader
	own   [readBytes]byte
	rest  []byte
	err   error
}

func (r *interruptible) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		type part struct {
			n   int
			err error
		}
		read := make(chan part, 1)
		go func() {
			n, err := r.input.Read(r.own[:])
			read <- part{n, err}
		}()
		select {
		case part := <-read:
			r.rest, r.err = r.own[:part.n], part.err
		case <-r.ctx.Done():
			r.err = r.ctx.Err()
		}
	}
	n := copy(p, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) > 0 {
		return n, nil
	}
	return n, r.err
}

// A summed reader knows the SHA-256 of what was read.
type summed struct {
	io.Reader
	sum hash.Hash
}

func newSummed(input io.Reader) *summed {
	sum := sha256.New()
	return &summed{io.TeeReader(input, sum), sum}
}

func (s *summed) hex() string { return hex.EncodeToString(s.sum.Sum(nil)) }
