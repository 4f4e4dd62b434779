"""The bot under test."""


def triage(project):
    """Labels the open issues of a project that have no label."""
    for issue in project.issues.list(state="opened", labels="None", iterator=True):
        issue.labels = ["triage"]
        issue.save()
