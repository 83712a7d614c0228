package extproc

import (
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
)

// Every message to Envoy is built in this file.

// maxChunk is the largest streamed chunk sent: a little below 64 KiB, the
// message size some peers refuse to go beyond.
const maxChunk = 62_000

type (
	response = extprocv3.ProcessingResponse
	bodyMode = filterv3.ProcessingMode_BodySendMode
)

// headersReply answers a headers message, with or without a mode override.
func headersReply(isRequest bool, common *extprocv3.CommonResponse, override *filterv3.ProcessingMode) *response {
	headers := &extprocv3.HeadersResponse{Response: common}
	if isRequest {
		return &response{Response: &extprocv3.ProcessingResponse_RequestHeaders{RequestHeaders: headers}, ModeOverride: override}
	}
	return &response{Response: &extprocv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: headers}, ModeOverride: override}
}

// leave tells Envoy that this exchange needs nothing more from us: it closes
// the side stream after this reply.
func leave() *filterv3.ProcessingMode {
	return &filterv3.ProcessingMode{
		RequestBodyMode:    filterv3.ProcessingMode_NONE,
		ResponseBodyMode:   filterv3.ProcessingMode_NONE,
		ResponseHeaderMode: filterv3.ProcessingMode_SKIP,
	}
}

// readRequest asks for the whole request body. With skipResponse Envoy closes
// the side stream after the body reply.
func readRequest(skipResponse bool) *filterv3.ProcessingMode {
	mode := &filterv3.ProcessingMode{
		RequestBodyMode:  filterv3.ProcessingMode_BUFFERED,
		ResponseBodyMode: filterv3.ProcessingMode_NONE,
	}
	if skipResponse {
		mode.ResponseHeaderMode = filterv3.ProcessingMode_SKIP
	}
	return mode
}

// streamResponse asks for the response in full duplex. Body modes of an
// override are always explicit, so the request's is repeated. The length must
// go in the same reply: Envoy keeps it otherwise, and the client's framing
// breaks.
func streamResponse() (*extprocv3.CommonResponse, *filterv3.ProcessingMode) {
	common := &extprocv3.CommonResponse{HeaderMutation: &extprocv3.HeaderMutation{RemoveHeaders: []string{"content-length"}}}
	return common, &filterv3.ProcessingMode{
		RequestBodyMode:     filterv3.ProcessingMode_BUFFERED,
		ResponseBodyMode:    filterv3.ProcessingMode_FULL_DUPLEX_STREAMED,
		ResponseTrailerMode: filterv3.ProcessingMode_SEND,
	}
}

// bodyReply answers one body message outside duplex: nil leaves it unchanged.
func bodyReply(isRequest bool, common *extprocv3.CommonResponse) *response {
	body := &extprocv3.BodyResponse{Response: common}
	if isRequest {
		return &response{Response: &extprocv3.ProcessingResponse_RequestBody{RequestBody: body}}
	}
	return &response{Response: &extprocv3.ProcessingResponse_ResponseBody{ResponseBody: body}}
}

// replaceBody puts a new request body in place, with the length it needs:
// Envoy answers 500 to a changed body with the old length. With read the
// response must come as it is, not compressed.
func replaceBody(body []byte, decoded, read bool) *extprocv3.CommonResponse {
	mutation := &extprocv3.HeaderMutation{SetHeaders: []*corev3.HeaderValueOption{{
		Header:       &corev3.HeaderValue{Key: "content-length", RawValue: strconv.AppendInt(nil, int64(len(body)), 10)},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}}}
	if decoded {
		mutation.RemoveHeaders = append(mutation.RemoveHeaders, "content-encoding")
	}
	if read {
		mutation.RemoveHeaders = append(mutation.RemoveHeaders, "accept-encoding")
	}
	return &extprocv3.CommonResponse{
		HeaderMutation: mutation,
		BodyMutation:   &extprocv3.BodyMutation{Mutation: &extprocv3.BodyMutation_Body{Body: body}},
	}
}

// chunks answers in duplex: the body in pieces, the last with the end of the
// stream when end is set. An empty body still carries the end.
func chunks(isRequest bool, body []byte, end bool) []*response {
	var out []*response
	for {
		n := min(len(body), maxChunk)
		last := n == len(body)
		if n > 0 || (last && end) {
			out = append(out, bodyReply(isRequest, &extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{
				Mutation: &extprocv3.BodyMutation_StreamedResponse{StreamedResponse: &extprocv3.StreamedBodyResponse{
					Body: body[:n], EndOfStream: last && end,
				}},
			}}))
		}
		if body = body[n:]; last {
			return out
		}
	}
}

// trailersReply leaves trailers as they are.
func trailersReply(isRequest bool) *response {
	if isRequest {
		return &response{Response: &extprocv3.ProcessingResponse_RequestTrailers{RequestTrailers: &extprocv3.TrailersResponse{}}}
	}
	return &response{Response: &extprocv3.ProcessingResponse_ResponseTrailers{ResponseTrailers: &extprocv3.TrailersResponse{}}}
}

// immediate answers the client in the provider's place.
func immediate(a Answer) *response {
	set := make([]*corev3.HeaderValueOption, 0, len(a.Header))
	for name, values := range a.Header {
		for _, v := range values {
			set = append(set, &corev3.HeaderValueOption{
				Header:       &corev3.HeaderValue{Key: strings.ToLower(name), RawValue: []byte(v)},
				AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
			})
		}
	}
	return &response{Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: &extprocv3.ImmediateResponse{
		Status:  &typev3.HttpStatus{Code: typev3.StatusCode(a.Status)},
		Headers: &extprocv3.HeaderMutation{SetHeaders: set},
		Body:    a.Body,
		Details: "context_guru",
	}}}
}
