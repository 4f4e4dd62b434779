// Uses the client that oapi-codegen makes: lists issues, creates one, and meets an error.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"example.com/client/api"
)

func main() {
	address, token := os.Args[1], os.Args[2]
	authenticate := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Private-Token", token)
		return nil
	}
	client, err := api.NewClientWithResponses(address+"/api/v4", api.WithRequestEditorFn(authenticate))
	check(err)
	ctx := context.Background()
	created, err := client.CreateProjectIssueWithResponse(ctx, "acme/site", api.CreateProjectIssueBody{Title: "Two"})
	check(err)
	listed, err := client.ListProjectIssuesWithResponse(ctx, "acme/site", &api.ListProjectIssuesParams{})
	check(err)
	missing, err := client.GetProjectWithResponse(ctx, "acme/none", &api.GetProjectParams{})
	check(err)
	reason, err := missing.JSON4XX.Message.AsErrorMessage0()
	check(err)
	titles := []string{}
	for _, issue := range *listed.JSON200 {
		titles = append(titles, issue.Title)
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"created": created.JSON201.Iid, "titles": titles, "error": reason,
	}))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
