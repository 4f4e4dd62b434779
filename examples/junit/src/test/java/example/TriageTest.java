package example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.gitlab4j.api.GitLabApi;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class TriageTest {
    @RegisterExtension
    static final GitLabServer server = new GitLabServer();

    @Test
    void labelsIssuesWithoutALabel() throws Exception {
        try (GitLabApi gitlab = server.clientOf("ada")) {
            Triage.run(gitlab, "acme/site");
            assertEquals(List.of("triage"), gitlab.getIssuesApi().getIssue("acme/site", 1L).getLabels());
        }
        assertEquals("", server.differencesFrom(Map.of("updated", List.of(Map.of(
            "type", "issue",
            "path", "acme/site#1",
            "changes", Map.of("labels", List.of(List.of(), List.of("triage"))))))));
    }
}
