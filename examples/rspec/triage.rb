# The bot under test: labels the open issues of a project that have no label.
def triage(gitlab, project)
  gitlab.issues(project, state: "opened", labels: "None").auto_paginate do |issue|
    gitlab.edit_issue(project, issue.iid, labels: "triage")
  end
end
