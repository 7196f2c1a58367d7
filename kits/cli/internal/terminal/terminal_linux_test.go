package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal gives both ends of a new terminal: what a person has before them, and
// what a program reads.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no terminals here")
	}
	t.Cleanup(func() { person.Close() })
	var number, unlocked int32
	ask(t, person, syscall.TIOCSPTLCK, &unlocked)
	ask(t, person, syscall.TIOCGPTN, &number)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

func ask(t *testing.T, file *os.File, request uintptr, value *int32) {
	t.Helper()
	raw, err := file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	})
}

func echoes(t *testing.T, program *os.File) bool {
	t.Helper()
	termios, err := attributes(program)
	if err != nil {
		t.Fatal(err)
	}
	return termios.Lflag&syscall.ECHO != 0
}

func TestATerminalIsToldFromAFile(t *testing.T) {
	_, program := openTerminal(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if !Is(program) || Is(null) {
		t.Errorf("a terminal is %v, %s is %v", Is(program), os.DevNull, Is(null))
	}
	if _, err := ReadSecret(t.Context(), null); !errors.Is(err, ErrUnsupported) {
		t.Errorf("reading a secret from a file gives %v", err)
	}
}

func TestASecretIsNotShownAndTheLineAfterItIsLeft(t *testing.T) {
	person, program := openTerminal(t)
	show, err := hide(program)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := person.Write([]byte("secret\nnext\n")); err != nil {
		t.Fatal(err)
	}
	secret, err := ReadSecret(t.Context(), program)
	if err != nil || secret != "secret" {
		t.Errorf("got %q, %v", secret, err)
	}
	show()
	if !echoes(t, program) {
		t.Error("the terminal shows nothing afterwards")
	}
	next := make([]byte, 16)
	if n, err := program.Read(next); err != nil || string(next[:n]) != "next\n" {
		t.Errorf("then came %q, %v", next[:n], err)
	}
	if _, err := program.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	shown := make([]byte, 64)
	n, err := person.Read(shown)
	if err != nil || bytes.Contains(shown[:n], []byte("secret")) || !bytes.Contains(shown[:n], []byte("end")) {
		t.Errorf("the terminal shows %q, %v", shown[:n], err)
	}
}

func TestCancellingEndsThePromptAndShowsAgainWhatIsTyped(t *testing.T) {
	_, program := openTerminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadSecret(ctx, program); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !echoes(t, program) {
		t.Error("the terminal shows nothing afterwards")
	}
}
