// Calls every reading method of GitLab's own client for Go, and prints what its types can't hold.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go"
)

type outcome struct {
	Method string `json:"method"`
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"`
}

// argument makes a value for a parameter: ids are 1 or the project's path, texts are what the project has.
func argument(method string, at int, of reflect.Type) (reflect.Value, bool) {
	switch {
	case of.Kind() == reflect.Interface && of.NumMethod() == 0:
		place := "acme/site"
		if strings.Contains(method, "Group") {
			place = "acme"
		}
		if strings.Contains(method, "User") && !strings.Contains(method, "Project") {
			return reflect.ValueOf(1).Convert(reflect.TypeOf(int(0))), true
		}
		return reflect.ValueOf(place), true
	case of.Kind() == reflect.Ptr:
		return reflect.Zero(of), true
	case of.Kind() == reflect.Int || of.Kind() == reflect.Int64:
		return reflect.ValueOf(1).Convert(of), true
	case of.Kind() == reflect.String:
		text := "main"
		switch {
		case strings.Contains(method, "Label"):
			text = "bug"
		case strings.Contains(method, "Tag"), strings.Contains(method, "Release"):
			text = "v1"
		case strings.Contains(method, "File"):
			text = "README.md"
		case strings.Contains(method, "Variable"):
			text = "KEY"
		case strings.Contains(method, "Wiki"):
			text = "home"
		}
		return reflect.ValueOf(text).Convert(of), true
	}
	return reflect.Value{}, false
}

func main() {
	client, err := gitlab.NewClient(os.Args[2], gitlab.WithBaseURL(os.Args[1]), gitlab.WithCustomRetryMax(0))
	if err != nil {
		panic(err)
	}
	outcomes := []outcome{}
	services := reflect.ValueOf(client).Elem()
	for i := 0; i < services.NumField(); i++ {
		field := services.Type().Field(i)
		if !field.IsExported() || field.Type.Kind() != reflect.Interface {
			continue
		}
		service := services.Field(i)
		if service.IsNil() {
			continue
		}
		for m := 0; m < service.NumMethod(); m++ {
			name := field.Name + "." + service.Type().Method(m).Name
			method := service.Method(m)
			short := service.Type().Method(m).Name
			if !strings.HasPrefix(short, "List") && !strings.HasPrefix(short, "Get") && !strings.HasPrefix(short, "Search") {
				continue
			}
			kind := method.Type()
			if kind.NumOut() < 2 || !kind.Out(kind.NumOut()-1).Implements(reflect.TypeOf((*error)(nil)).Elem()) {
				continue
			}
			arguments := []reflect.Value{}
			usable := true
			for at := 0; at < kind.NumIn(); at++ {
				if kind.IsVariadic() && at == kind.NumIn()-1 {
					break
				}
				value, ok := argument(name, at, kind.In(at))
				usable = usable && ok
				arguments = append(arguments, value)
			}
			if !usable {
				continue
			}
			outcomes = append(outcomes, call(name, method, arguments))
		}
	}
	sort.Slice(outcomes, func(a, b int) bool { return outcomes[a].Method < outcomes[b].Method })
	json.NewEncoder(os.Stdout).Encode(outcomes)
}

func call(name string, method reflect.Value, arguments []reflect.Value) (result outcome) {
	result.Method = name
	defer func() {
		if problem := recover(); problem != nil {
			result.Error = fmt.Sprint("panic: ", problem)
		}
	}()
	done := make(chan []reflect.Value, 1)
	go func() {
		defer func() {
			if problem := recover(); problem != nil {
				done <- []reflect.Value{reflect.ValueOf(fmt.Errorf("panic: %v", problem))}
			}
		}()
		done <- method.Call(arguments)
	}()
	var out []reflect.Value
	select {
	case out = <-done:
	case <-time.After(20 * time.Second):
		result.Error = "no answer"
		return
	}
	for _, value := range out {
		if response, ok := value.Interface().(*gitlab.Response); ok && response != nil && response.Response != nil {
			result.Status = response.StatusCode
		}
	}
	if problem, ok := out[len(out)-1].Interface().(error); ok && problem != nil {
		var answered *gitlab.ErrorResponse
		if !errors.As(problem, &answered) && !errors.Is(problem, gitlab.ErrNotFound) {
			result.Error = problem.Error()
		}
	}
	return
}
