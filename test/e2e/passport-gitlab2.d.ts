declare module "passport-gitlab2" {
  import type { Strategy as PassportStrategy } from "passport";

  export interface Profile {
    id: string;
    username: string;
    displayName: string;
    provider: string;
  }

  export const Strategy: new (
    options: {
      baseURL: string;
      clientID: string;
      clientSecret: string;
      callbackURL: string;
      state: boolean;
    },
    verify: (
      accessToken: string,
      refreshToken: string,
      profile: Profile,
      done: (error: unknown, user: Express.User) => void,
    ) => void,
  ) => PassportStrategy;
}
