//go:build !unix

package worker_test

import (
	"context"
	"errors"
)

func inodes(context.Context, []byte, requestFunc) (any, error) {
	return nil, errors.ErrUnsupported
}
