// Package triage is the bot under test.
package triage

import gitlab "gitlab.com/gitlab-org/api/client-go"

// Triage labels the open issues of a project that have no label.
func Triage(client *gitlab.Client, project string) error {
	issues, _, err := client.Issues.ListProjectIssues(project, &gitlab.ListProjectIssuesOptions{
		State:  gitlab.Ptr("opened"),
		Labels: &gitlab.LabelOptions{"None"},
	})
	if err != nil {
		return err
	}
	for _, issue := range issues {
		labels := gitlab.LabelOptions{"triage"}
		_, _, err := client.Issues.UpdateIssue(project, issue.IID, &gitlab.UpdateIssueOptions{Labels: &labels})
		if err != nil {
			return err
		}
	}
	return nil
}
