/** Descriptions of the resources by name. */
export const TAGS: Readonly<Record<string, string>> = {
  Absent: "Lists of what this server has none of, which clients read in passing.",
  Accounts: "How administrators create and change users.",
  "E-mail addresses": "Further e-mail addresses of users.",
  Invitations: "Invitations to groups and projects.",
  "Access requests": "Requests of users to become members of groups and projects.",
  "Award emoji": "Reactions to issues, merge requests, snippets and notes.",
  Avatars: "Pictures of users, groups and projects.",
  Badges: "Images with links, for groups and projects.",
  Branches: "Branches of projects' repositories.",
  "Project topics":
    "By which projects are found. Everyone can see which topics exist, but not which private projects have them.",
  "Application settings": "What administrators decide for whatever is created without saying so.",
  Appearance:
    "How the application presents itself: on the page to sign in, and in mails. Pictures are kept, and downloaded by their addresses.",
  "Addresses of the application's pictures": "Where its pictures are downloaded.",
  "Plan limits":
    "How much there may be of some things, for GitLab's plans: all here have the default one.",
  "Project aliases":
    "Short names of projects, by which Git clients find them: `git clone https://…/ALIAS.git`.",
  "Member roles":
    "Roles beside the base ones. Members can have one; what it allows beside its base role is kept, and allows nothing here.",
  "Container registry":
    "Repositories of container images and their tags (docs/registry.md). Clients of images push and pull them at `/v2/`.",
  "Container images":
    "What clients of images call, such as docker, podman and skopeo (OCI distribution 1.1). They get a token for it from `/jwt/auth`.",
  "Tokens of the container registry":
    "What clients of images ask for a token, with a name and a password or token, or with neither for what is public.",
  "Secure files":
    "Files that jobs need and nobody else should see, such as keys to sign with. They are encrypted in the database. Certificates are not read: `metadata` is null.",
  Sites:
    "Sites that jobs of projects publish, which GitLab calls Pages, and their domains (docs/sites.md). Answers 404 where the server serves none.",
  "Protection rules":
    "Who may push and delete packages, by their names. Those about repositories of container images are checked when a client asks for a token.",
  "User agents":
    "With which programs issues and snippets were created over the API, for administrators.",
  "Security settings":
    "What projects want to be scanned for, which is kept: nothing is scanned here.",
  "Metric images": "Pictures of the metrics of incidents.",
  "Addresses of metric images": "Where these pictures are downloaded.",
  Features: "Feature flags of the instance, which are kept: nothing here depends on them.",
  "Broadcast messages": "What administrators tell everybody, for clients to show.",
  "CI variables": "Variables of CI jobs, of projects, groups and the instance.",
  "CI lint": "Checks of CI/CD configurations.",
  Counts:
    "How many issues, merge requests and to-do items there are, what belongs to users, and how active a group is.",
  Commits: "Commits of projects' repositories.",
  "Commit statuses": "What jobs, and services elsewhere, say about commits.",
  "Epic boards":
    "Boards of groups' epics, and their lists. They are made and changed over GraphQL: `epicBoardCreate`, `epicBoardUpdate`, `epicBoardListCreate` and others.",
  "Issue boards": "Boards of groups and projects, and their lists.",
  Dependencies:
    "Dependencies of projects, with their known vulnerabilities, and lists of them as files.",
  Deployments: "What was deployed to environments, and when.",
  Discussions: "Threads of comments on issues, merge requests, snippets and commits.",
  "Draft notes": "Comments on merge requests that only their author sees until they are published.",
  Environments: "Where projects deploy to.",
  Epics:
    "Epics of groups, with issues and further epics below them. `/groups/:id/-/epics` is another address of `/groups/:id/epics`.",
  Events: "Activity of users.",
  "External status checks":
    "Services elsewhere that are told of merge requests, and say whether they may be merged.",
  "Exports and imports": "Projects and groups as archives, to take them to another server.",
  "Freeze periods": "When projects are not to be deployed, which jobs are told.",
  GraphQL:
    'Operations of GraphQL: see [graphql.md](graphql.md). Errors are `{"errors": [{"message": …}]}`.',
  Groups: "Groups and subgroups.",
  "Imports from GitHub": "Repositories of GitHub, brought here (docs/moving-in.md).",
  "Placeholder reassignments":
    "Who is nobody here of those whose work was imported into a group, and who they turn out to be: see [moving in](../moving-in.md#who-is-who). As in GitLab, single ones are decided about in GraphQL.",
  "Imports from other servers":
    "Groups and projects of another GitLab server, brought here (docs/moving-in.md).",
  "Issue links": "Relations between issues.",
  Issues: "Issues of projects.",
  Iterations: "Times of groups in which issues are done; GraphQL changes them.",
  Jobs: "Jobs of projects' pipelines.",
  Labels: "Labels of groups and projects.",
  Markdown: "Markdown as HTML.",
  Members: "Members of groups and projects, and their roles.",
  "Merge requests": "Merge requests of projects.",
  "Merge request approvals": "Who approved merge requests, and who must.",
  Health: "The server's health, and generated avatars.",
  Metrics: "Metrics for Prometheus.",
  Version: "The server's version.",
  Milestones: "Milestones of groups and projects.",
  Namespaces: "Groups and users' own namespaces, as places for projects.",
  Notes: "Comments on issues, merge requests and snippets.",
  "Notification settings": "The events that the caller is notified of.",
  SCIM: "The people of a group, for identity providers (RFC 7644).",
  "SCIM tokens and identities": "Tokens of identity providers, and the accounts that they manage.",
  "Pipeline schedules": "Pipelines that start at some times.",
  "Job token scope": "Which other projects' CI jobs may access a project with their tokens.",
  "Pipeline triggers": "Tokens that start pipelines.",
  Pipelines: "Runs of what projects' `.gitlab-ci.yml` configures.",
  Packages: "Packages of projects: files under a name and a version.",
  "NuGet packages": "The registry for dotnet, nuget and Visual Studio (docs/packages.md).",
  "Python packages":
    "The registry for pip, twine and other programs that speak as PyPI does (docs/packages.md).",
  "Composer packages": "The registry for Composer, PHP's package manager (docs/packages.md).",
  "Go modules": "The proxy from which Go gets modules of repositories (docs/packages.md).",
  "Helm charts": "The registry of charts for Helm (docs/packages.md).",
  "Maven packages": "The registry for Maven, Gradle and sbt (docs/packages.md).",
  "npm packages":
    "The registry for npm and other package managers that speak with it (docs/packages.md).",
  Projects: "Projects, stars and forks.",
  "Protected environments":
    "Who may deploy to environments of projects, or to tiers of environments below groups, and whose approval that needs.",
  "Push rules":
    "What pushes to a project have to fit: branches, messages, people, files. Those of groups are copied to new projects.",
  Releases: "Releases of projects, and links to their assets.",
  "Feature flags": "Flags that programs ask for, with Unleash's clients.",
  "Terraform states": "States of Terraform and OpenTofu, with their locks.",
  "Pull mirrors": "Other repositories from which projects are updated.",
  "Push mirrors": "Other repositories to which projects push on what they get.",
  "DORA metrics": "How often and how fast projects are deployed, and what goes wrong.",
  "Merge request dependencies": "Which merge requests are to be merged before others.",
  "Merge trains": "Merge requests that are merged one after another.",
  "Resource groups": "What jobs of projects share, of which one at a time may use it.",
  Reviewers: "Who was asked to review merge requests.",
  Runners: "What does the jobs of pipelines: programs such as GitLab's runner, which ask for jobs.",
  "Repository files": "Files of projects' repositories, and commits that change one.",
  Repositories: "Files, archives and contributors of projects' repositories.",
  "Service accounts":
    "Users that programs are, of the instance, of groups and of projects, with their tokens.",
  "Custom attributes": "Texts that administrators give to users, groups and projects, by keys.",
  "SSH keys": "Public keys of users.",
  "GPG keys": "OpenPGP keys of users, by which signatures of commits and tags are verified.",
  "Deploy keys": "Public keys of projects.",
  "Deploy tokens":
    "Credentials of groups and projects for Git and packages, which belong to no user.",
  "Protected branches": "Who may push to branches and merge into them.",
  "Protected tags": "Who may create tags.",
  "Resource events":
    "When labels, milestones and states of issues and merge requests changed, and iterations and weights of issues.",
  Sharing: "Groups that are invited to projects and to other groups.",
  Search: "Searches of everything, of a group or of a project.",
  Snippets: "Texts of users and projects.",
  Suggestions:
    "What comments on lines of merge requests suggest instead of them: applied by commits.",
  Tags: "Tags of projects' repositories.",
  Uploads: "Files that were uploaded to projects, for texts to refer to.",
  "Addresses of avatars": "Where responses find these pictures.",
  "Addresses of uploads": "Where texts find these files.",
  Templates: "Licences, and what files such as `.gitignore` may begin with.",
  "Time tracking": "Estimates of issues and merge requests, and the time spent on them.",
  Todos: "The caller's to-do list.",
  Transfers: "Moving projects and groups to other groups.",
  "Group and project access tokens": "Tokens of groups and projects, each with a user of its own.",
  "Impersonation tokens": "Tokens that administrators create for users.",
  "Personal access tokens": "Tokens that users create for themselves.",
  "User follows": "Users who follow others.",
  "User preferences": "How users want to see things: kept for clients that ask for it.",
  "User statuses": "What users say about what they are doing.",
  Users: "Users.",
  Integrations:
    "Messengers, build servers and others that are told what happens, and settings for more of them.",
  Webhooks: "Addresses that are called when something happens.",
  Wikis: "Pages and attachments of the wikis of projects and groups.",
  "Audit events": "Security-relevant actions.",
  "OAuth2 tokens": "The OAuth2 token endpoint.",
  "OAuth2 devices": "Devices without a browser, which somebody lets in on another one.",
  "OAuth2 token inspection": "Introspection and revocation of tokens.",
  "OAuth2 metadata":
    "The endpoints and capabilities of the provider of OAuth2 and OpenID Connect, and the keys that verify its tokens.",
  "OpenID Connect": "Who has signed in at an application.",
  "Git over HTTP": "Projects' repositories, for Git's own client and others.",
  "Git LFS":
    "Large files of projects, for git-lfs: objects that are transferred in batches, and locks of files ([lfs.md](../lfs.md)).",
  Applications: "Applications that sign users in by OAuth2.",
};
