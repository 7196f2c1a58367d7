package terminal

import "syscall"

const (
	getAttributes = syscall.TCGETS
	setAttributes = syscall.TCSETS
)
