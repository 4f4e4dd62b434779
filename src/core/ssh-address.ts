/** Where Git is served over SSH. */
export interface SshAddress {
  /** The name of the host. Default: that of the server's public address. */
  readonly host?: string | undefined;
  readonly port: number;
}

/** The port that addresses of Git leave out. */
export const USUAL_PORT = 22;

/**
 * The address of a repository for Git over SSH, as GitLab writes it: `git@host:path.git`, or with `ssh://` for another port.
 *
 * @param address `undefined` if Git is not served over SSH: GitLab then shows an address all the same
 * @param host of the public address, without brackets
 * @param path the full path of the project, or of its wiki
 */
export function sshUrlOf(address: SshAddress | undefined, host: string, path: string): string {
  const { host: name = host, port = USUAL_PORT } = address ?? {};
  const shown = name.includes(":") ? `[${name}]` : name;
  if (port !== USUAL_PORT) return `ssh://git@${shown}:${port}/${path}.git`;
  return name.includes(":") ? `[git@${name}]:${path}.git` : `git@${name}:${path}.git`;
}
