"""Uses the client that openapi-generator makes: lists issues, creates one, and meets an error."""
import json
import sys

import pm_api

address, token = sys.argv[1:]
configuration = pm_api.Configuration(host=f"{address}/api/v4", api_key={"privateToken": token})
with pm_api.ApiClient(configuration) as client:
    issues = pm_api.IssuesApi(client)
    body = pm_api.CreateProjectIssueBody(title="Two")
    created = issues.create_project_issue("acme/site", body)
    listed = issues.list_project_issues("acme/site")
    try:
        pm_api.ProjectsApi(client).get_project("acme/none")
    except pm_api.exceptions.NotFoundException as error:
        reason = json.loads(error.body)["message"]
print(json.dumps({"created": created.iid, "titles": [one.title for one in listed], "error": reason}))
