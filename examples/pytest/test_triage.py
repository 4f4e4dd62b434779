from triage import triage


def test_labels_issues_without_a_label(client, expect_changes):
    project = client.projects.get("acme/site")
    triage(project)
    assert project.issues.get(1).labels == ["triage"]
    expect_changes(
        updated=[
            {"type": "issue", "path": "acme/site#1", "changes": {"labels": [[], ["triage"]]}}
        ]
    )


def test_leaves_others_alone(client, expect_changes):
    project = client.projects.get("acme/site")
    issue = project.issues.get(1)
    issue.labels = ["bug"]
    issue.save()
    triage(project)
    assert project.issues.get(1).labels == ["bug"]
