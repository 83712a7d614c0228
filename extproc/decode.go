package extproc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// errTooLarge reports a body that does not fit once decoded.
var errTooLarge = errors.New("decoded body is over the limit")

// decode undoes a content coding. At most limit bytes come out, whatever the
// body claims, so a small body cannot unfold into a large one.
func decode(coding string, body []byte, limit int64) ([]byte, error) {
	var from io.Reader
	switch coding {
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("read gzip body: %w", err)
		}
		from = z
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(8<<20)) // 8 MiB, the window RFC 8878 asks decoders to support
		if err != nil {
			return nil, fmt.Errorf("read zstd body: %w", err)
		}
		defer z.Close()
		from = z
	default:
		return nil, fmt.Errorf("content coding %q is not known", coding)
	}
	out, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("decode %s body: %w", coding, err)
	}
	if int64(len(out)) > limit {
		return nil, errTooLarge
	}
	return out, nil
}
