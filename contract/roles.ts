/** What each role may do; each may also do what those after it may. */
export const roles = {
  admin: "everything, including things of other users and in every workspace",
  user: "create, use and delete things in its workspaces",
  viewer: "look at things in its workspaces",
} as const;
export type Role = keyof typeof roles;

export const roleNames = Object.keys(roles) as [Role, ...Role[]];

/** Whether a word is the name of a role. */
export const isRole = (word: string): word is Role => Object.hasOwn(roles, word);

/** Whether a role includes everything that another one may do. */
export const covers = (role: Role, needed: Role): boolean =>
  roleNames.indexOf(role) <= roleNames.indexOf(needed);

/** The one of two roles that may do less. */
export const lowerOf = (one: Role, other: Role): Role => (covers(one, other) ? other : one);

/** What an operation's `about` adds to its role, by what the call is about. */
export const ownership = {
  cluster: "in your workspaces; others are hidden",
  newCluster: "a name that no cluster outside your workspaces has",
  service: "in your workspaces; others are hidden",
  newService: "a name that no service outside your workspaces has",
  pool: "in your workspaces; others are hidden",
  newPool: "a name that no pool outside your workspaces has",
  storage: "in your workspaces; others are hidden",
  newVolume: "a name that no volume outside your workspaces has",
  token: "a token that you created; administrators: any",
  recipe: "a recipe that you created; administrators: any",
  user: "yourself; administrators: anybody",
  changedRole: "the role that you have; administrators: any",
  givenRole: "at most your own role",
} as const;
export type Ownership = keyof typeof ownership;
