package upstream

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const requestID = "X-Request-Id"

// dropped reports whether a header belongs to the connection, the body or the
// one request that it came with.
func dropped(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings": // RFC 9110, 7.6.1
		return true
	case "Host", "Content-Length", "Content-Encoding", "Content-Md5", "Content-Digest", "Digest", "Repr-Digest",
		"Accept-Encoding", "Expect": // the body is another one, and its answer is read
		return true
	case "Idempotency-Key", "X-Idempotency-Key", "X-Client-Request-Id", requestID:
		// A provider would take it for a repetition.
		return true
	default:
		// Envoy's orders to itself, and our own.
		return strings.HasPrefix(name, ":") || strings.HasPrefix(name, "X-Envoy-") || strings.HasPrefix(name, "X-Context-Guru-")
	}
}

// forward returns the headers of a continuation.
func forward(client, set http.Header) http.Header {
	out := make(http.Header, len(client)+4)
	var named []string // by Connection, to be dropped as well
	for name, values := range client {
		if strings.EqualFold(name, "connection") {
			for _, value := range values {
				for token := range strings.SplitSeq(value, ",") {
					named = append(named, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(token)))
				}
			}
		}
	}
	for name, values := range client {
		key := textproto.CanonicalMIMEHeaderKey(name)
		if dropped(key) || slices.Contains(named, key) || !httpguts.ValidHeaderFieldName(key) {
			continue
		}
		for _, value := range values {
			if httpguts.ValidHeaderFieldValue(value) {
				out[key] = append(out[key], value)
			}
		}
	}
	for name, values := range set {
		out[textproto.CanonicalMIMEHeaderKey(name)] = slices.Clone(values)
	}
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = []string{""} // or net/http sends its own
	}
	return out
}

// newRequestID returns a random UUID, which is what Envoy expects of a request id.
func newRequestID() string {
	var id [16]byte
	_, _ = rand.Read(id[:])                         // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4, RFC 9562
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
