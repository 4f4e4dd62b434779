import { routeOf } from "../../graphql/declare.ts";
import { placeEpicRoute } from "../hierarchy/changes.ts";
import { epicResource } from "./index.ts";

const EPICS = "/groups/:id/epics";
/** The routes that change epics, which GraphQL knows as work items. */
export const epicRoutes = {
  create: routeOf(epicResource, `POST ${EPICS}`),
  change: routeOf(epicResource, `PUT ${EPICS}/:epic_iid`),
  destroy: routeOf(epicResource, `DELETE ${EPICS}/:epic_iid`),
  subscribe: routeOf(epicResource, `POST ${EPICS}/:epic_iid/subscribe`),
  unsubscribe: routeOf(epicResource, `POST ${EPICS}/:epic_iid/unsubscribe`),
  place: placeEpicRoute,
  link: routeOf(epicResource, `POST ${EPICS}/:epic_iid/related_epics`),
  unlink: routeOf(epicResource, `DELETE ${EPICS}/:epic_iid/related_epics/:related_epic_link_id`),
};
