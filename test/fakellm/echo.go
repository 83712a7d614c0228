package fakellm

import (
	"context"
	"net/http"
	"strings"

	"golang.org/x/net/websocket"
)

// maxMessage is the largest WebSocket message that is echoed.
const maxMessage = 64 << 20

// echoBody describes a request that is none for a model.
func echoBody(rec *Request) ([][]byte, error) {
	body, err := encode(struct {
		ID     int    `json:"id"`
		Method string `json:"method"`
		Target string `json:"target"`
		Length int64  `json:"length"`
		SHA256 string `json:"sha256"`
	}{rec.ID, rec.Method, rec.Target, rec.Size, rec.SHA256})
	return [][]byte{body}, err
}

func isWebSocket(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// frame is a WebSocket message with its type.
type frame struct {
	kind byte
	data []byte
}

// echoSocket accepts a WebSocket from any origin and sends every message back
// until the client leaves or the server closes.
func (s *Server) echoSocket(ctx context.Context, w http.ResponseWriter, r *http.Request) Reply {
	codec := websocket.Codec{
		Marshal: func(v any) ([]byte, byte, error) {
			f, ok := v.(*frame)
			if !ok {
				return nil, 0, websocket.ErrNotSupported
			}
			return f.data, f.kind, nil
		},
		Unmarshal: func(data []byte, kind byte, v any) error {
			f, ok := v.(*frame)
			if !ok {
				return websocket.ErrNotSupported
			}
			f.data, f.kind = data, kind
			return nil
		},
	}
	reply := Reply{Outcome: ClientGone, Turn: -1}
	websocket.Server{
		Handshake: func(*websocket.Config, *http.Request) error { return nil },
		Handler: func(ws *websocket.Conn) {
			reply.Status = http.StatusSwitchingProtocols
			ws.MaxPayloadBytes = maxMessage
			// The handler returns at once when its connection is closed.
			stop := context.AfterFunc(ctx, func() { _ = ws.Close() })
			defer stop()
			for {
				var f frame
				if codec.Receive(ws, &f) != nil {
					break
				}
				if codec.Send(ws, &f) != nil {
					break
				}
				reply.Size += int64(len(f.data))
			}
		},
	}.ServeHTTP(w, r)
	if s.ctx.Err() != nil {
		reply.Outcome = Closed
	}
	return reply
}
