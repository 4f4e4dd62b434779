package example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.gitlab4j.api.GitLabApi;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A GitLab for the tests of a class, back at its seed before each. */
public final class GitLabServer implements BeforeAllCallback, BeforeEachCallback, AfterAllCallback {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final HttpClient http = HttpClient.newHttpClient();
    private Process process;
    private JsonNode started;

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
        String command = System.getenv().getOrDefault("PM_CLI", "npx --yes pm-api");
        List<String> words = new ArrayList<>(List.of(command.split(" ")));
        File seed = new File(getClass().getResource("/seed.json").toURI());
        words.addAll(List.of("test", "--exit-with-parent", "--seed", seed.getPath()));
        process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        started = JSON.readTree(process.inputReader().readLine());
    }

    @Override
    public void beforeEach(ExtensionContext context) throws Exception {
        order("reset", Map.of());
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        process.getOutputStream().close();
        process.waitFor();
    }

    /** A client that has signed in as a user of the seed. */
    public GitLabApi clientOf(String user) {
        return new GitLabApi(started.get("url").asText(), started.get("tokens").get(user).asText());
    }

    /** What differs from these changes since the seed; nothing else may have changed. */
    public String differencesFrom(Map<String, ?> changes) throws Exception {
        JsonNode expected = JSON.valueToTree(changes);
        ((com.fasterxml.jackson.databind.node.ObjectNode) expected).put("only", true);
        return String.join("\n", JSON.convertValue(
            JSON.readTree(order("changes/expect", expected)).get("differences"), String[].class));
    }

    private String order(String path, Object body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(started.get("control").asText() + path))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body)))
            .build();
        return http.send(request, BodyHandlers.ofString()).body();
    }
}
