/** What is wrong or doubtful in a configuration, in GitLab's words. */
export class Findings {
  readonly errors: string[] = [];
  readonly warnings: string[] = [];

  /** @param place the path of keys, as `jobs:test:needs` */
  error(place: string, message: string): undefined {
    // Of a thousand mistakes, the first ones are told.
    if (this.errors.length < MAX_MESSAGES) this.errors.push(`${place} ${message}`);
  }

  warn(place: string, message: string): undefined {
    if (this.warnings.length < MAX_MESSAGES) this.warnings.push(`${place} ${message}`);
  }
}

/** Maximum number of errors, and of warnings. */
const MAX_MESSAGES = 25;
