package pipelinetest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/contextguru/contextguru/pipeline"
)

// sourceFolder finds the folder of a component's settings from the package's
// own folder or the one above.
func sourceFolder(defaults any) string {
	name := path.Base(reflect.TypeOf(defaults).PkgPath())
	if here, err := os.Getwd(); err == nil && filepath.Base(here) == name {
		return "."
	}
	return name
}

// settingsFaults lists what is wrong with a settings struct: it must be an
// exported flat struct whose every field is exported, named in snake_case and
// explained by a comment.
func settingsFaults(defaults any, folder string) (faults []string) {
	kind := reflect.TypeOf(defaults)
	if kind == nil || kind.Kind() != reflect.Struct {
		return []string{fmt.Sprintf("settings are a %v, want a struct", kind)}
	}
	if kind.Name() != "Config" {
		faults = append(faults, fmt.Sprintf("settings are called %q, want Config", kind.Name()))
	}
	comments, err := fieldComments(folder, kind.Name())
	if err != nil {
		return append(faults, err.Error())
	}
	key := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for field := range kind.Fields() {
		if !field.IsExported() {
			faults = append(faults, field.Name+" is not exported")
		}
		if tag := field.Tag.Get("json"); !key.MatchString(tag) {
			faults = append(faults, fmt.Sprintf("%s has the json tag %q, want a key in snake_case and no options", field.Name, tag))
		}
		if comment := comments[field.Name]; !strings.HasSuffix(strings.TrimSpace(comment), ".") {
			faults = append(faults, fmt.Sprintf("%s is explained by %q, want a sentence", field.Name, comment))
		}
		if !flat(field.Type) {
			faults = append(faults, fmt.Sprintf("%s is a %s, want a plain value or a list of them", field.Name, field.Type))
		}
	}
	return faults
}

// flat reports whether settings of a type need no reference of their own. The
// trigger, which several components share, has one.
func flat(t reflect.Type) bool {
	if t == reflect.TypeFor[pipeline.Trigger]() {
		return true
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64, reflect.String:
		return true
	case reflect.Slice:
		return t.Elem().Kind() != reflect.Slice && flat(t.Elem())
	default:
		return false
	}
}

// fieldComments reads the comments on the fields of a struct type.
func fieldComments(folder, typeName string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		if comments := structComments(file, typeName); comments != nil {
			return comments, nil
		}
	}
	return nil, fmt.Errorf("no struct %s in the Go files of %s", typeName, folder)
}

func structComments(file *ast.File, typeName string) (comments map[string]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != typeName {
			return true
		}
		if body, ok := spec.Type.(*ast.StructType); ok {
			comments = map[string]string{}
			for _, field := range body.Fields.List {
				for _, name := range field.Names {
					comments[name.Name] = field.Doc.Text() + field.Comment.Text()
				}
			}
		}
		return false
	})
	return comments
}
