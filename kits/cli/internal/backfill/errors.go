package backfill

import "errors"

// A SetupError is found before anything is sent: a sentence that says what to mend.
type SetupError struct{ Message string }

func setupError(message string) *SetupError { return &SetupError{message} }

// Error gives the sentence.
func (e *SetupError) Error() string { return e.Message }

// An InputError ends a run, because the rest of the input cannot be read.
type InputError struct {
	Line    int64 // The last line that could be read.
	Message string
}

// Error gives the sentence.
func (e *InputError) Error() string { return e.Message }

// A RecordError ends a run, because what became of a row could not be written down.
// The run can be continued.
type RecordError struct {
	Path string
	Err  error
}

// Error says which file failed, and why.
func (e *RecordError) Error() string {
	var cause interface{ Unwrap() error }
	err := e.Err
	// The system's own word, without the path that it repeats.
	for errors.As(err, &cause) {
		err = cause.Unwrap()
	}
	return e.Path + " cannot be written: " + err.Error()
}

// Unwrap gives the cause.
func (e *RecordError) Unwrap() error { return e.Err }
