package test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// How large things may grow before they have to be split.
const (
	maxFileLines     = 400
	maxFunctionLines = 80
	maxPackageFiles  = 12
	maxMakefileLines = 80
	maxReadmeLines   = 200
)

// source is one hand-written file: its path below the root, with slashes, and its text.
type source struct{ path, text string }

// file is a source with its syntax, which is nil for anything but Go.
type file struct {
	source

	syntax    *ast.File
	positions *token.FileSet
	generated bool
}

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// isCode reports whether the rules of hand-written production code hold.
func (f *file) isCode() bool { return f.syntax != nil && !f.isTest() && !f.generated }

func (f *file) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, f.positions.Position(pos).Line)
}

// parse reads the syntax of the Go files and reports those that have none.
func parse(sources []source) (files []*file, faults []string) {
	for _, s := range sources {
		f := &file{source: s}
		if path.Ext(s.path) == ".go" {
			f.positions = token.NewFileSet()
			syntax, err := parser.ParseFile(f.positions, s.path, s.text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				faults = append(faults, err.Error())
				continue
			}
			f.syntax, f.generated = syntax, ast.IsGenerated(syntax)
		}
		files = append(files, f)
	}
	return files, faults
}

// sourceRules names every rule that is about the text of the files.
func sourceRules() map[string]func([]*file) []string {
	return map[string]func([]*file) []string{
		"file length":           checkFileLengths,
		"function length":       checkFunctionLengths,
		"package size":          checkPackageSizes,
		"package comment":       checkPackageComments,
		"exported comment":      checkExportedComments,
		"no init":               checkNoInit,
		"no panic":              checkNoPanic,
		"finished":              checkFinished,
		"components are listed": checkComponentsListed,
	}
}

func checkFileLengths(files []*file) (faults []string) {
	for _, f := range files {
		limit := 0
		switch {
		case f.isCode():
			limit = maxFileLines
		case f.path == "Makefile":
			limit = maxMakefileLines
		case f.path == "README.md":
			limit = maxReadmeLines
		}
		if lines := strings.Count(strings.TrimSuffix(f.text, "\n"), "\n") + 1; limit > 0 && lines > limit {
			faults = append(faults, fmt.Sprintf("%s has %d lines, at most %d are allowed: split it by topic", f.path, lines, limit))
		}
	}
	return faults
}

func checkFunctionLengths(files []*file) (faults []string) {
	for _, f := range files {
		if !f.isCode() {
			continue
		}
		for _, decl := range f.syntax.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := f.positions.Position(function.Pos()).Line, f.positions.Position(function.End()).Line
			if lines := last - first + 1; lines > maxFunctionLines {
				faults = append(faults, fmt.Sprintf("%s: %s has %d lines, at most %d are allowed",
					f.at(function.Pos()), function.Name.Name, lines, maxFunctionLines))
			}
		}
	}
	return faults
}

func checkPackageSizes(files []*file) (faults []string) {
	sizes := map[string]int{}
	for _, f := range files {
		if f.isCode() {
			sizes[path.Dir(f.path)]++
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(sizes)) {
		if sizes[dir] > maxPackageFiles {
			faults = append(faults, fmt.Sprintf("%s has %d files, at most %d are allowed: split the package", dir, sizes[dir], maxPackageFiles))
		}
	}
	return faults
}

// checkPackageComments wants one comment per package. A folder of tests only may have it in a test file.
func checkPackageComments(files []*file) (faults []string) {
	documented, onlyTests := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.syntax == nil {
			continue
		}
		dir := path.Dir(f.path)
		if before, seen := onlyTests[dir]; !seen || before {
			onlyTests[dir] = f.isTest()
		}
	}
	for _, f := range files {
		if f.syntax != nil && (!f.isTest() || onlyTests[path.Dir(f.path)]) {
			documented[path.Dir(f.path)] = documented[path.Dir(f.path)] || f.syntax.Doc.Text() != ""
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(documented)) {
		if !documented[dir] {
			faults = append(faults, dir+": no file has a package comment")
		}
	}
	return faults
}

func checkExportedComments(files []*file) (faults []string) {
	for _, f := range files {
		if !f.isCode() {
			continue
		}
		for _, decl := range f.syntax.Decls {
			for _, name := range undocumented(decl) {
				faults = append(faults, f.at(name.Pos())+": "+name.Name+" is exported and has no comment")
			}
		}
	}
	return faults
}

// undocumented returns the exported names of a declaration that no comment speaks of. A comment on a group of constants or
// variables speaks of all of them.
func undocumented(decl ast.Decl) (names []*ast.Ident) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		// The methods of the interfaces everybody knows say by their name what they do.
		wellKnown := decl.Recv != nil && slices.Contains([]string{"Error", "Read", "ServeHTTP", "String", "Unwrap", "Write"}, decl.Name.Name)
		if decl.Name.IsExported() && !wellKnown && receiverIsExported(decl) && decl.Doc.Text() == "" {
			names = append(names, decl.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if decl.Doc.Text() == "" && spec.Doc.Text() == "" {
					names = append(names, spec.Name)
				}
			case *ast.ValueSpec:
				if decl.Doc.Text() == "" && spec.Doc.Text() == "" && spec.Comment.Text() == "" {
					names = append(names, spec.Names...)
				}
			}
		}
		names = slices.DeleteFunc(names, func(name *ast.Ident) bool { return !name.IsExported() })
	}
	return names
}

// receiverIsExported unwraps *T, T[K] and T[K, V].
func receiverIsExported(function *ast.FuncDecl) bool {
	if function.Recv == nil {
		return true
	}
	for expr := function.Recv.List[0].Type; ; {
		switch t := expr.(type) {
		case *ast.StarExpr:
			expr = t.X
		case *ast.IndexExpr:
			expr = t.X
		case *ast.IndexListExpr:
			expr = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return true
		}
	}
}

func checkNoInit(files []*file) (faults []string) {
	for _, f := range files {
		if f.syntax == nil || f.generated {
			continue
		}
		for _, decl := range f.syntax.Decls {
			if function, ok := decl.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
				faults = append(faults, f.at(function.Pos())+": init runs before anybody asked; construct in the caller instead")
			}
		}
	}
	return faults
}

func checkNoPanic(files []*file) (faults []string) {
	for _, f := range files {
		if !f.isCode() {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" && !abortsHandler(call) {
					faults = append(faults, f.at(call.Pos())+": panic outside a test; return an error")
				}
			}
			return true
		})
	}
	return faults
}

// abortsHandler recognises panic(http.ErrAbortHandler), which is how net/http wants to be told to cut a connection.
func abortsHandler(call *ast.CallExpr) bool {
	if len(call.Args) != 1 {
		return false
	}
	value, ok := call.Args[0].(*ast.SelectorExpr)
	return ok && value.Sel.Name == "ErrAbortHandler"
}

// checkFinished looks for notes to a later self: in the comments of Go files, in the texts production code may print, and in
// all other files.
func checkFinished(files []*file) (faults []string) {
	// Put together so that the rule does not find itself.
	note := regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "X" + "XX"}, "|") + `)\b`)
	promise := regexp.MustCompile(`(?i)\bnot (yet )?imple` + `mented\b|\bunimple` + `mented\b`)
	grpcName := regexp.MustCompile(`codes\.Unimple` + `mented|Unimple` + `mented\w*Server`)
	look := func(place func(line int) string, text string, words ...*regexp.Regexp) {
		for i, line := range strings.Split(text, "\n") {
			line = grpcName.ReplaceAllString(line, "")
			for _, word := range words {
				if found := word.FindString(line); found != "" {
					faults = append(faults, fmt.Sprintf("%s: %q: finish it or leave it out", place(i), found))
				}
			}
		}
	}
	for _, f := range files {
		if f.syntax == nil {
			look(func(line int) string { return fmt.Sprintf("%s:%d", f.path, line+1) }, f.text, note, promise)
			continue
		}
		for _, group := range f.syntax.Comments {
			for _, comment := range group.List {
				look(func(int) string { return f.at(comment.Pos()) }, comment.Text, note, promise)
			}
		}
		if !f.isCode() {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				look(func(int) string { return f.at(literal.Pos()) }, literal.Value, promise)
			}
			return true
		})
	}
	return faults
}

// checkComponentsListed wants every component's folder to be imported by the one list of components. dsl and internal hold what
// components share.
func checkComponentsListed(files []*file) (faults []string) {
	at := slices.IndexFunc(files, func(f *file) bool { return f.path == "components/components.go" })
	if at < 0 {
		return nil
	}
	listed := map[string]bool{"dsl": true, "internal": true}
	for _, spec := range files[at].syntax.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			if below, ok := strings.CutPrefix(name, module+"/components/"); ok {
				listed[below] = true
			}
		}
	}
	for _, f := range files {
		parts := strings.Split(f.path, "/")
		if parts[0] == "components" && len(parts) > 2 && f.isCode() && !listed[parts[1]] {
			faults = append(faults, "components/"+parts[1]+" is missing in All of components/components.go")
			listed[parts[1]] = true
		}
	}
	return faults
}

// checkTopLevel reports entries of the root that belong nowhere. Names that begin with a dot are tools' own, and what git ignores
// is not part of the tree.
func checkTopLevel(names []string, gitignore string) (faults []string) {
	known := strings.Fields("cmd extproc pipeline components store deploy helm envoy test Makefile go.mod go.sum README.md LICENSE")
	for _, name := range names {
		ignored := slices.ContainsFunc(strings.Fields(gitignore), func(pattern string) bool {
			ok, err := path.Match(strings.Trim(pattern, "/"), name)
			return ok && err == nil
		})
		if !ignored && !strings.HasPrefix(name, ".") && !slices.Contains(known, name) {
			faults = append(faults, name+": the root holds "+strings.Join(known, ", ")+" and nothing else")
		}
	}
	return faults
}
