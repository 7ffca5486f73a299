//go:build !unix

package worker_test

import (
	"context"
	"errors"
)

func inodes(context.Context, []byte, askFunc) (any, error) {
	return nil, errors.ErrUnsupported
}
