package example;

import java.util.List;
import org.gitlab4j.api.GitLabApi;
import org.gitlab4j.api.GitLabApiException;
import org.gitlab4j.api.models.Issue;
import org.gitlab4j.api.models.IssueFilter;
import org.gitlab4j.models.Constants.IssueState;

/** The bot under test. */
public final class Triage {
    private Triage() {}

    /** Labels the open issues of a project that have no label. */
    public static void run(GitLabApi gitlab, String project) throws GitLabApiException {
        IssueFilter unlabelled =
            new IssueFilter().withState(IssueState.OPENED).withLabels(List.of("None"));
        for (Issue issue : gitlab.getIssuesApi().getIssues(project, unlabelled)) {
            gitlab.getIssuesApi().updateIssue(
                project, issue.getIid(), null, null, null, null, null, "triage", null, null, null);
        }
    }
}
