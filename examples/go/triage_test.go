package triage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	gitlab "gitlab.com/gitlab-org/api/client-go"
)

// server is a GitLab for tests: its addresses and tokens.
var server struct {
	URL     string
	Control string
	Tokens  map[string]string
}

func TestMain(m *testing.M) {
	command := os.Getenv("PM_CLI")
	if command == "" {
		command = "npx --yes pm-api"
	}
	words := append(strings.Fields(command), "test", "--exit-with-parent", "--seed", "seed.json")
	process := exec.Command(words[0], words[1:]...)
	process.Stderr = os.Stderr
	input, _ := process.StdinPipe()
	output, _ := process.StdoutPipe()
	if err := process.Start(); err != nil {
		panic(err)
	}
	if err := json.NewDecoder(output).Decode(&server); err != nil {
		panic(err)
	}
	code := m.Run()
	input.Close()
	process.Wait()
	os.Exit(code)
}

// order gives the server an order, and reads its answer.
func order(t *testing.T, path string, body any, answer any) {
	t.Helper()
	sent, _ := json.Marshal(body)
	response, err := http.Post(server.Control+path, "application/json", bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		t.Fatal(path, response.Status)
	}
	if answer != nil {
		if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
			t.Fatal(err)
		}
	}
}

// expectChanges fails the test unless exactly this has changed since the seed.
func expectChanges(t *testing.T, changes map[string]any) {
	t.Helper()
	var result struct{ Differences []string }
	changes["only"] = true
	order(t, "changes/expect", changes, &result)
	if len(result.Differences) > 0 {
		t.Error(strings.Join(result.Differences, "\n"))
	}
}

// newClient is a client that has signed in as ada, of a server at its seed.
func newClient(t *testing.T) *gitlab.Client {
	t.Helper()
	order(t, "reset", nil, nil)
	client, err := gitlab.NewClient(server.Tokens["ada"], gitlab.WithBaseURL(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestLabelsIssuesWithoutALabel(t *testing.T) {
	client := newClient(t)
	if err := Triage(client, "acme/site"); err != nil {
		t.Fatal(err)
	}
	issue, _, err := client.Issues.GetIssue("acme/site", 1)
	if err != nil || fmt.Sprint(issue.Labels) != "[triage]" {
		t.Errorf("the issue is %v (%v)", issue, err)
	}
	expectChanges(t, map[string]any{"updated": []any{map[string]any{
		"type":    "issue",
		"path":    "acme/site#1",
		"changes": map[string]any{"labels": []any{[]string{}, []string{"triage"}}},
	}}})
}
