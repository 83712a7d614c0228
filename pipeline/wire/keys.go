package wire

import (
	"bytes"

	"github.com/contextguru/contextguru/pipeline/wire/internal/literal"
)

// keys is a set of the object keys that mean something to us.
type keys uint64

const (
	keyMessages keys = 1 << iota
	keyModel
	keyStream
	keyVersion
	keyThread
	keySystem
	keyPreviousMessage
	keyRole
	keyContent
	keyToolCallID
	keyToolCalls
	keyFunctionCall
	keyName
	keyType
	keyText
	keyToolUseID
	keyID
	keyInput
	keyIsError
	keyFunction
	keyCustom
	keyArguments

	keyPreviousResponse
	keyConversation
	keyCallID
	keyOutput
	keyAction
	keyOperation
	keyStatus
	keyError
	keyStdout
	keyStderr
	keyOutcome
	keyExitCode

	keyContents
	keyRequest
	keyGenerateRequest
	keyCachedContent
	keyParts
	keyFunctionCallPart
	keyFunctionResponse
	keyArgs
	keyResponse
	keyIsErrorCamel

	keyConverse
	keyToolUse
	keyToolResult
	keyToolUseIDCamel
	keyJSON

	keyTools
	keyToolConfig
	keyFunctions
	keyStore
	keyN
	keyGenerationConfig
)

// The keys that matter in each kind of object. A repeated one makes the object
// ambiguous; the others may repeat.
const (
	messageKeys  = keyRole | keyContent | keyToolCallID | keyToolCalls | keyFunctionCall | keyName
	blockKeys    = keyType | keyText | keyContent | keyToolUseID | keyID | keyName | keyInput | keyIsError
	callKeys     = keyID | keyType | keyFunction | keyCustom
	functionKeys = keyName | keyArguments | keyInput

	itemKeys = keyType | keyRole | keyCallID | keyID | keyName | keyArguments | keyInput | keyAction | keyOperation |
		keyOutput | keyStatus | keyError
	partKeys    = keyType | keyText | keyStdout | keyStderr | keyOutcome
	outcomeKeys = keyType | keyExitCode

	contentKeys   = keyRole | keyParts
	calledKeys    = keyID | keyName | keyArgs
	respondedKeys = keyID | keyName | keyResponse
	failureKeys   = keyError | keyIsError | keyIsErrorCamel

	toolUseKeys    = keyToolUseIDCamel | keyName | keyInput
	toolResultKeys = keyToolUseIDCamel | keyStatus | keyContent
)

// repeatable are the keys of a request that are as good twice as once: whether
// they are there is all that counts.
const repeatable = keyVersion | keyThread | keySystem | heldKeys | toolKeys | keyStore | keyN | keyGenerationConfig

// toolKeys declare tools. What they mean twice is told by Tools.
const toolKeys = keyTools | keyToolConfig | keyFunctions

// heldKeys name history that the provider keeps.
const heldKeys = keyPreviousResponse | keyConversation | keyPreviousMessage | keyCachedContent

// keyOf returns the key of a decoded name, or none.
func keyOf(name []byte) keys {
	switch string(name) {
	case "messages":
		return keyMessages
	case "model":
		return keyModel
	case "stream":
		return keyStream
	case "anthropic_version":
		return keyVersion
	case "thread":
		return keyThread
	case "system":
		return keySystem
	case "previous_message_id":
		return keyPreviousMessage
	case "role":
		return keyRole
	case "content":
		return keyContent
	case "tool_call_id":
		return keyToolCallID
	case "tool_calls":
		return keyToolCalls
	case "function_call":
		return keyFunctionCall
	case "name":
		return keyName
	case "type":
		return keyType
	case "text":
		return keyText
	case "tool_use_id":
		return keyToolUseID
	case "id":
		return keyID
	case "input":
		return keyInput
	case "is_error":
		return keyIsError
	case "function":
		return keyFunction
	case "custom":
		return keyCustom
	case "arguments":
		return keyArguments
	default:
		return otherKeyOf(name)
	}
}

// otherKeyOf does the same for what only the younger APIs have.
func otherKeyOf(name []byte) keys {
	switch string(name) {
	case "previous_response_id":
		return keyPreviousResponse
	case "n":
		return keyN
	case "generationConfig", "generation_config":
		return keyGenerationConfig
	case "conversation":
		return keyConversation
	case "instructions", "systemInstruction", "system_instruction":
		return keySystem
	case "call_id":
		return keyCallID
	case "output":
		return keyOutput
	case "action":
		return keyAction
	case "operation":
		return keyOperation
	case "status":
		return keyStatus
	case "error":
		return keyError
	case "stdout":
		return keyStdout
	case "stderr":
		return keyStderr
	case "outcome":
		return keyOutcome
	case "exit_code":
		return keyExitCode
	case "contents":
		return keyContents
	case "request":
		return keyRequest
	case "generateContentRequest", "generate_content_request":
		return keyGenerateRequest
	case "cachedContent", "cached_content":
		return keyCachedContent
	case "parts":
		return keyParts
	case "functionCall":
		return keyFunctionCallPart
	case "functionResponse", "function_response":
		return keyFunctionResponse
	case "args":
		return keyArgs
	case "response":
		return keyResponse
	case "isError":
		return keyIsErrorCamel
	case "converse":
		return keyConverse
	case "toolUse":
		return keyToolUse
	case "toolResult":
		return keyToolResult
	case "toolUseId":
		return keyToolUseIDCamel
	case "json":
		return keyJSON
	case "tools":
		return keyTools
	case "toolConfig":
		return keyToolConfig
	case "functions":
		return keyFunctions
	case "store":
		return keyStore
	default:
		return 0
	}
}

// seen watches over the keys of one object.
type seen struct {
	mine  keys // the ones that matter here
	had   keys
	again keys // the ones that came more than once
}

// note returns the key of a name, or none when it does not matter here.
func (s *seen) note(name []byte) keys {
	k := keyOf(name) & s.mine
	s.again |= s.had & k
	s.had |= k
	return k
}

// ambiguous reports whether a key that matters came more than once.
func (s *seen) ambiguous() bool { return s.again != 0 }

// isString reports whether a JSON value is a string.
func isString(value []byte) bool { return len(value) >= 2 && value[0] == '"' }

// word returns the text of a JSON string. It is a slice of the literal unless
// that has escapes, and nil when the value is no string or has no exact text.
func word(value []byte) []byte {
	if !isString(value) {
		return nil
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	text, ok := literal.String(value)
	if !ok {
		return nil
	}
	return []byte(text)
}
