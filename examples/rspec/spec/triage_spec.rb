require "gitlab"
require "json"
require "net/http"
require_relative "../triage"

# A GitLab for the tests, back at its seed before each.
class Server
  attr_reader :started

  def initialize
    command = ENV.fetch("PM_CLI", "npx --yes pm-api")
    @process = IO.popen([*command.split, "test", "--exit-with-parent", "--seed", "seed.json"], "r+")
    @started = JSON.parse(@process.gets)
  end

  # A client that has signed in as a user of the seed.
  def client_of(user)
    Gitlab.client(endpoint: started["api"], private_token: started["tokens"][user])
  end

  # What differs from these changes since the seed; nothing else may have changed.
  def differences_from(changes)
    JSON.parse(order("changes/expect", { only: true, **changes }).body)["differences"]
  end

  def reset
    order("reset")
  end

  def stop
    @process.close
  end

  private

  def order(path, body = nil)
    headers = { "content-type" => "application/json" }
    Net::HTTP.post(URI(started["control"] + path), body ? body.to_json : "", headers)
  end
end

RSpec.describe "triage" do
  before(:all) { @server = Server.new }
  before { @server.reset }
  after(:all) { @server.stop }

  it "labels issues without a label" do
    gitlab = @server.client_of("ada")
    triage(gitlab, "acme/site")
    expect(gitlab.issue("acme/site", 1).labels).to eq(["triage"])
    changes = { labels: [[], ["triage"]] }
    updated = [{ type: "issue", path: "acme/site#1", changes: changes }]
    expect(@server.differences_from(updated: updated)).to eq([])
  end
end
