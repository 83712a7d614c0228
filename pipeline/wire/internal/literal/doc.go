// Package literal reads and writes the JSON values that texts stand in.
//
// Most are strings. [Decode] returns a string's text and [Encode] writes another
// text the way that string was written: with the same characters escaped, and
// in the same spelling.
//
// The others are content blocks, objects that hold their text in one member:
//
//	{"text": "…"}    the text is the string
//	{"json": {…}}    the text is the JSON as it stands, white space and all
//
// A text that is JSON of the same kind takes the place of JSON as it is. Any
// other text turns the member into "text": the reader of a block with "json"
// accepts objects only. Other members of a block stay as they are.
package literal
