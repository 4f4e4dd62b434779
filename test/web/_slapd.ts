import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { Client } from "ldapts";
import { CERTIFICATES } from "../api/_certificates.ts";
import { newFolder } from "../folder.ts";

const PROGRAM = "/usr/sbin/slapd";
const SCHEMAS = "/etc/ldap/schema";

/** Whether OpenLDAP's server is on this machine, as Debian's package `slapd` installs it. */
export const hasSlapd = existsSync(PROGRAM) && existsSync(SCHEMAS);
if (!hasSlapd) console.log("There is no slapd here (apt-get install slapd): LDAP is not tested.");

/** The entry below which everything is, and the one that may change it. */
export const BASE = "dc=example,dc=com";
export const ROOT = { dn: `cn=root,${BASE}`, password: "r00t" };

/** An LDAP server of a test. */
export interface Slapd {
  readonly port: number;
  /** A file with the certificate of `tls.example`, with which it serves TLS. */
  readonly certificate: string;
  /** Changes its entries. */
  change<T>(work: (client: Client) => Promise<T>): Promise<T>;
  /** Stops it for good, as if it was unplugged. */
  stop(): Promise<void>;
}

const config = (folder: string) => `
include ${SCHEMAS}/core.schema
include ${SCHEMAS}/cosine.schema
include ${SCHEMAS}/inetorgperson.schema
attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
objectclass ( 1.2.840.113556.1.5.9 NAME 'user' SUP top AUXILIARY MAY userAccountControl )
pidfile ${folder}/slapd.pid
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile ${folder}/certificate.pem
TLSCertificateKeyFile ${folder}/key.pem
# As many servers do: a bind without a password is one as nobody.
allow bind_anon_cred bind_anon_dn
database mdb
suffix "${BASE}"
rootdn "${ROOT.dn}"
rootpw ${ROOT.password}
directory ${folder}/data
access to attrs=userPassword by anonymous auth
access to * by users read
`;

/** Starts a server without people. */
export async function startSlapd(): Promise<Slapd> {
  const folder = newFolder();
  mkdirSync(join(folder, "data"));
  const certificate = join(folder, "certificate.pem");
  writeFileSync(join(folder, "slapd.conf"), config(folder));
  writeFileSync(certificate, CERTIFICATES[0].certificate);
  writeFileSync(join(folder, "key.pem"), CERTIFICATES[0].key);
  const port = await freePort();
  const args = ["-h", `ldap://127.0.0.1:${port}`, "-f", join(folder, "slapd.conf"), "-d", "0"];
  const child: ChildProcess = spawn(PROGRAM, args, { stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const change: Slapd["change"] = async (work) => {
    const client = new Client({ url: `ldap://127.0.0.1:${port}` });
    try {
      await client.bind(ROOT.dn, ROOT.password);
      return await work(client);
    } finally {
      await client.unbind();
    }
  };
  // It says nowhere that it listens.
  for (;;) {
    const isUp = await change(async () => true).catch(() => false);
    if (isUp) break;
    if (child.exitCode !== null) {
      execFileSync(PROGRAM, ["-T", "test", "-f", join(folder, "slapd.conf")], { stdio: "inherit" });
      throw new Error("slapd has ended");
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await change(async (client) => {
    await client.add(BASE, { objectClass: ["dcObject", "organization"], dc: "example", o: "Ex" });
    for (const ou of ["people", "others"]) {
      await client.add(`ou=${ou},${BASE}`, { objectClass: "organizationalUnit", ou });
    }
  });
  return {
    ...{ port, certificate, change },
    stop: async () => {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
