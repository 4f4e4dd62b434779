const split = (text: string) => text.trim().split(/\s+/);

export const FIRST_NAMES = split(`
  Amara Benjamin Chiara Daniel Elif Farid Grace Hiroshi Ingrid José Katarzyna Liam Mei Nadia Oliver Priya Quentin Rosa
  Samuel Tomasz Uma Viktor Wanjiru Xin Yusuf Zoë Aisha Bruno Carmen Dmitri Esther Fatima Giulia Hassan Isabel Jamal
  Keiko Lars Maria Noah Olga Pedro Qing Ravi Sofia Thabo Ursula Vera William Ximena Yuki Zainab Anders Beatriz Chloé
  Deepak Emma Felix Greta Hana Ivan Julia Kofi Lucía Mateo Naomi Omar Paula Renée Stefan
`);

export const LAST_NAMES = split(`
  Adeyemi Bergström Castillo Dubois Eriksen Fernández Goldberg Haddad Ivanova Jensen Kowalski Lindqvist Moreau Nakamura
  Okafor Petrov Quinn Rossi Santos Tanaka Ueda Vargas Weber Xu Yamamoto Zhang Andersen Banerjee Costa Díaz Engel Farouk
  García Hoffmann Ishikawa Johansson Kaya Larsson Mbeki Nguyen Ortiz Patel Ramírez Schneider Takahashi Usman Virtanen
  Walker Yilmaz Zimmermann Abbott Bianchi Cohen Demir Evans Fischer Gupta Hughes Iyer Jung Khan Lefèvre Murphy Novak
  Oliveira Park Rahman Silva Thompson Weiss Young Abe Brandt Correia Dhillon Eze Fontaine Greene Hakimi Ito
`);

/** Companies, each a top-level group. The first has the same path in every scale. */
export const COMPANIES = split(`
  Acme Borealis Cobalt Driftwood Evergreen Foxglove Granite Harbour Ironwood Juniper Kestrel Lumen Meridian Northwind
  Opal Pinecone Quarry Riverstone Saltmarsh Tidewater
`);

export const DEPARTMENTS = ["Platform", "Product", "Research"];

/** Teams of each department. */
export const TEAMS: Record<string, readonly string[]> = {
  Platform: ["Infrastructure", "Security"],
  Product: ["Mobile", "Web"],
  Research: ["Data Science", "Prototypes"],
};

export const PRODUCTS = split(`
  Billing Catalog Checkout Identity Inventory Invoicing Loyalty Messaging Notifications Onboarding Orders Payments
  Pricing Recommendations Reporting Scheduling Search Shipping Subscriptions Support Telemetry Translations Warehouse
  Workflow
`);

export const KINDS = ["API", "App", "Worker", "Dashboard", "SDK", "Docs"];

export const PERSONAL_PROJECTS = ["Dotfiles", "Notes", "Playground", "Homepage", "Recipes"];

export const TOPICS = split("backend frontend go internal ios kotlin legacy node python rust ruby");

/** The states of work, in order. Every company has them as labels, and boards as lists. */
export const WORKFLOW = [
  "Triage",
  "Backlog",
  "Needs design",
  "Ready",
  "Planned",
  "In progress",
  "Pairing",
  "In review",
  "Changes requested",
  "Approved",
  "Testing",
  "Verified",
  "Staging",
  "Canary",
  "Released",
  "Documentation",
  "Waiting for customer",
  "Waiting for vendor",
  "On hold",
  "Blocked",
  "Duplicate",
  "Follow-up",
];

export const TYPES = ["bug", "feature", "incident", "maintenance", "question", "security"];

export const PRIORITIES = ["critical", "high", "medium", "low"];

/** Subjects of project labels, which follow one of {@link LABEL_PREFIXES}. */
export const SUBJECTS = split(`
  accessibility accounts alerts analytics audit auth backups cache calendar cart cli compliance config currency dates
  delivery email errors exports filters forms icons images imports jobs keyboard layout limits localisation logging
  maps menus metrics migrations navigation offline pagination passwords performance permissions printing privacy
  queues refunds retries roles routing sessions settings shortcuts sorting storage tables tags tax themes timezones
  tooltips uploads validation webhooks
`);

export const LABEL_PREFIXES = ["feature", "module", "customer", "test"];

export const COLORS = split(`
  #0052cc #00875a #5319e7 #8e44ad #c0392b #cc0033 #d1d100 #d4c5f9 #e67e22 #e99695 #fbca04 #1abc9c #34495e #428bca
`);
