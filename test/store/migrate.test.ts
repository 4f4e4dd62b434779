import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { allResources } from "../../src/mounts.ts";
import { type Migration, migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";
import { type Store, StoreError } from "../../src/store/port.ts";
import { emptyDatabase, engine, type TestDatabase } from "../helpers.ts";
import { programOf } from "../program.ts";

/**
 * The SHA-256 of each released migration. They are frozen, since existing databases have run them: never change a line
 * here, add one for each new step.
 */
const FROZEN: Record<string, string> = {
  "20261121-01-users": "78aab21bacd48139dc3d652aebf7337af971e0a6e5299f44e672f79b38b32bd0",
  "20261121-02-namespaces": "21f277960e715ca8db25ce310a9b0c71cbc81c209e24f990cd9171ea67cb67dd",
  "20261121-03-projects": "c87251364c91839047ce0d4dc131b63b7e77581e993e8a5a5b83c06ee40759a7",
  "20261121-04-members": "10f78fe40322ce6bac4233391455671ce4f00649863320b21010dda9001408ab",
  "20261121-05-tokens": "d8bc5714d5a6dc36cb9df1f81bf4c387412a7302d65cc99928faee4033050bb2",
  "20261121-06-labels": "d8b9ab1a3c94505ce655ff6a2ab8f2b53ae1180a45191f5d3deadf2b8a86ee31",
  "20261121-07-milestones": "9589d2a82b893eae86110f2101164c1656e672aa9e646bae5415fa62c855c681",
  "20261121-08-boards": "8526839e9cc36e1ae13660fa310fdf65850574b647361cc4597427a258e5d3d5",
  "20261121-09-badges": "af7da93e412d8d9a3dd4174453e69551bc8c40b20abe090bb3ba7bd7f871334a",
  "20261121-10-notification-settings":
    "788440b00ebd9df792c4eae1e42a41675d6f3dfe8a83bab7b1ae5f5704ef7611",
  "20261121-11-issues": "94f28f5ff60f7f49ef409784d7a6fb90df3750c898fc79570a581ef29c42ae41",
  "20261121-12-merge-requests": "970df2dbd2149e66b8f0b7a4c109a078a60e651b0346b6641b8645ca761f0ae5",
  "20261121-13-notes": "d4fae12fd16801a1c762c8cd3eb2931af9ce951b14e078d77535694f7a53d04b",
  "20261121-14-events": "f54c95632d39b5bca410426dec67ff889110a498c04bd4c2607e380d1128bb5f",
  "20261121-15-issue-subscriptions":
    "e44288745232b4c0dad0f186cea853537c5d14806450b2ca742a4505214fec5e",
  "20261121-15-labels-by-name": "a5c1a6ebdb58967ad636577e143f96b6c58cc8548d95ada10254a83919399b24",
  "20261121-15-mail-outbox": "85ce0c30ccf661dd6012486986ae7457024a534cfc5087a9c2857fdf0905bd48",
  "20261121-15-merge-request-subscriptions":
    "2fbfc9078b39314b081ad47aa200776a4c016656e7f722b05177d62f3d45c19e",
  "20261121-16-dependencies": "74a2fc0742233c9aece2b61ea189128dcf7856386a19f4b8ba765b703f016d1d",
  "20261121-16-todos": "8ac9aeb5484446f17e8e4a8e68210c441dee5c58ba48c63a2af5844e3b463a41",
  "20261121-17-award-emoji": "a43c6efa9e9844a452d037188b7f4a219caeba637cbfadd79952bffc5508a862",
  "20261121-17-wikis": "8ea9de25edbcb5bdbcb077cbf43de5322c6f7e371764cf753d09ba8f3a163af7",
  "20261121-40-members-expiry": "df8bfba67b5bfc5056616ef000da5aa042add734d58bc3d44c609a00ad5e08a1",
  "20261121-41-events-by-kind": "1821ecaafe3c9c4164d120118336c22fd4fcd0e24c2ea5fa55c7f29915940bd9",
  "20261121-45-jobs": "5795eafacaab3d24beb0868a0922154acdf835b4c6a3c474e44052ed40b7e09f",
  "20261121-50-sessions": "b0083af5be65333f9654441a09a940afe6bfd69429287c9f0b1c0235673423e6",
  "20261121-51-attempts": "60a858f6734ece2d0d08faa928264af891a58bf5b68d8a68ef70bdac5d39192c",
  "20261121-52-audit-events": "1aac6d5e37cc8b67f2463fe9302d63c1c269da1d472a5fcc926c0536f364edf8",
  "20261121-55-oauth-applications":
    "03d66a8361e7e997ec9d92880f439f756cc512553004ef72e0fe2efb6f9f31b8",
  "20261121-56-oauth-grants": "7d937133dbaf26166ad3687e00f00b78f857f368e5640b78c73847a0effe993d",
  "20261121-57-oauth-tokens": "8c5efae50e4b915d684a2d2a1cc414344520795f86786468785fc4c066829843",
  "20261121-60-two-factor": "59f0fd17a7c60598b47168bd0843f47577b04c14e673ca06c3acfd195ec712e9",
  "20261121-61-recovery-codes": "8225e18cfaec6a582a5a08b99fa87e338fdad37383b5e140b6db61dd7c71c08a",
  "20261121-62-half-sign-ins": "4ceec360dc8bee0589bdf8746d677a5de9aeafb8f924b0dbb0a763187fafdb3c",
  "20261121-65-token-use": "8e7c228705873d7885d613422815e8c888686ece79b634c0c5997424a7eb17fa",
  "20261121-66-job-tokens": "be1cea4e2ebe0dc89ecdcf0707b6233bf18ba825ccca1a2e8bd7ccd8abc578d6",
  "20261121-67-audit-events-by-action":
    "441f74fbea4e98689a0fa293ec2a383954faa15ee5ada9559036cec3270c12b8",
  "20261121-70-forks": "55f6db00cfead63aff177ce7dac0c028b1aa042b38f967ead69c4f8e8254d5db",
  "20261121-71-snippets": "456fac8b2a88aa7ff13d9d422f8d35d3c0e5a13e769bddebb7b97bcc68e57d76",
  "20261121-72-event-counts-of-project":
    "f862c887003b06f2ed8256b3d26bafa8cccc9eb8b5c688544ce8a13ab9a6c5da",
  "20261121-73-events-by-author-in-project":
    "1b9a33669594f377be728b275ff8616f4b663e69a24b64f4a2a210152e80fa71",
  "20261121-80-own-tokens": "4cbd9fa0197ea261a49c1cfa3bced01a55652dc6d5223a97949ad71a07656ca3",
  "20261122-40-outbox": "5004555a173a2cd102e9c6ebc519465106d269a459cf0cc31dae6be07d726a2f",
  "20261122-41-mail-in-outbox": "0faf8005f36804dd1539ab45736731683cd1528ffbc08cd2b66386255073ee85",
  "20261122-50-invitations": "11a1bb1cd5a050f61d36133e514adc873a55312ecbe6e6ced697b8182ce76741",
  "20261122-60-jobs-error": "93f0db8037ed2d345ffd98f208cde63fbf281370b71105b6e0ee1823a729d132",
  "20261122-70-ghost": "6ca00395c3d3245f9c848bf03bc7b6ccea378d6924f18d724b36adf1f662adba",
  "20261122-70-star-counts": "fca85b303c2136b2833043a6d23d58062a2da98a712c6750580861b1db6100b4",
  "20261122-85-issue-orders": "e76d753b96b6e7d7b7b18c1a49d11797363d5a9cb69e03cd19ad00ba563c7a4e",
  "20261122-85-merge-request-orders":
    "dae526af7320ce13f10676b979aec26ae03e78edc7988db1f781735bd4f0aa3d",
  "20261122-85-milestones-by-title":
    "d4a5f61f63aef634b09e34f2d59643a07912d3dc829143de603fbb81238c4651",
  "20261122-85-issue-search": "2b427d6842f9da931e9e0b99a9928be23d8d1032f6c76058527d076ec256d933",
  "20261122-85-merge-request-search":
    "289492087b3587bd4554d2fe4b6b1166a4e37f09ada26a42b5fd1cae2e103aa4",
  "20261122-80-outbox-order": "c9619ba11423167e7cd3afec01a56f7474540926fcc4bd3d7aaf0214e8004257",
  "20261122-82-award-emoji-of-snippets":
    "17dc6b0db9d38d5a2aa7d26a5282fe3a8e28b91c70b62a438bd5a933330f81b4",
  "20261122-82-discussions": "9bc5c43f5ca0239f1edd360cbac2fdc3b4009602051ca43cb0a9ad0b53d50c8a",
  "20261122-83-timelogs": "fdffe0992aebdb3ffd1eabb16abe0c5592087b97d2a67cd47c6d51876939f4f3",
  "20261122-83-issue-links": "19d4436999bccbb61f6e5caeced322ef7c5fb2f5d53d191dc1a7ad2324e392e0",
  "20261122-83-merge-request-issues":
    "52c77eb439cba9b24e08581907d21304d7d3f8217fb4e7f681e7b60855e5df80",
  "20261122-83-resource-events": "e2425e820f431f713428a218a636ea01962a8e75068be50fd0182ce9d34a5126",
  "20261122-84-project-boards": "7106f5146ee01486df3df12a876bfd14edd40e8f3e8c496be4c12afd4c849aa2",
  "20261122-84-relative-positions":
    "8e5039ce7be7817067756e7173d8f8c862bc63c8632fe60b95e07fcc7305ad0d",
  "20261122-81-scim": "bf597f6b5943acdb6c202502bff1e167135e134e670ee17cc3fde7d881fa656d",
  "20261122-86-git": "4d9ba16e69189709f11790bc2c4b1f83aa18509ae61c44ab89c1e31cdae84603",
  "20261122-91-award-emoji-orders":
    "b2c6eca02f5a1386650a43fd0143c5fd6fb90d35fcb306f29390b578180880f0",
  "20261122-91-subgroups-by-name":
    "f15d0c868cf4c0e96388d9c8ffd45104d608e82769a999c824eacb2d7c81d0ff",
  "20261122-90-label-counts": "9d46a8ac23d45d3bba27f20d4533ce21ba48344dbf2686e88c684e276c8d69ed",
  "20261122-91-member-orders": "f047c0b17bd33eac297402a28323678796f3d8a2b5bcc7885e734ce7ca8766a1",
  "20261122-91-milestone-orders":
    "3bf9147538a48e37571f024668d50fb7145af28fb763ea41387850fb92f55c10",
  "20261122-91-note-orders": "beff45854b9c3388dbe3dd9130992b542644cc2f38c903b39fbefae1d89afc08",
  "20261122-91-forks-by-age": "1a5abc2ed2568eea046d42118c1d66a51ae259c63803b2b9fd151debea9c2617",
  "20261122-91-user-orders": "75e1cbb43d1ccd73db93c42a25cfa2220dbdf599cf6bfdf1162a8c8ad2415778",
  "20261122-87-ssh-keys": "4eecddf0518e228b2813afdc95cae77909c2a9c1844d50fc081f6dfdee9fa8ae",
  "20261122-87-protected-refs": "91a049e7d8b481b3569e706d68f57f782b5ee5b6e8a19bc3fa641fe796f50a98",
  "20261122-87-git-commit-counts":
    "a68222c53402064ce2a6cd47d4c931efaea9809c918768377d1289922feee4d2",
  "20261122-88-readme": "053b1d48688a13de916e87a95396aaa8e984c0f526a8319a96304872816a5582",
  "20261122-89-commit-comments": "59ef3d44a7f90574946b5bb8cfe0d73c7150d71eed42b2085bd37956bd9161b2",
  "20261122-97-draft-notes": "3b4bb2aa3e7397784d0b38e1d69fd0bf53765c68172c93be3f4cd1ed6c316642",
  "20261122-97-notes-on-commits":
    "f760d09e5b5f6a62ef677bbb756f734175b3e4146ab0f066d855c19ce49dfbe7",
  "20261122-93-labels-archived": "6c82f43fc6543aeb6bcd894e78b585e2988b16dd90a3bb456cbf96facddabc91",
  "20261122-99-wiki-repositories":
    "45f692f91eb2f65879bf19005667c279fcb99683226b9fdc6ac57c6027fc984c",
  "20261122-93-wiki-page-subscriptions":
    "9ef94b78a5db0fe3c986646af3a252dde2df6a65476209701f5fbe5446324c86",
  "20261122-92-issue-indexes": "9fb5984cd12f6a0bce0e7ebfe5ad0243275eaec5713e5f767772370d66a9b655",
  "20261122-92-note-indexes": "48e11ba8405af4029e430cf55d7983eea5ba51fec7bfd797727d0e3f61b36038",
  "20261122-92-resource-event-indexes":
    "8252b9406a1a2268d91cf63c3413c10bd1e6293c92a70a3540c0621e125d32f0",
  "20261122-91-issue-states": "0f36d8a15e56be700e5ecd05b6a5e134dbef9b01298bd30c598667058e195d1a",
  "20261122-95-merge-request-versions":
    "5a8a28bd63fe61bc46d3cbb8b2e63575e06b47cc5d0901f3089a0634089e8790",
  "20261122-91-merge-request-states":
    "a2f45f1fe5a1d3c9030bbb915e31cd3e1e1fed3364b3a9db431e0380a5dcda38",
  "20261122-91-todos-by-action": "24fb93a777448ca214f38bfa1bb7a10bc9345b4bf3e1e45f0a3ade29c82c5294",
  "20261122-98-reviewers": "0f30cdf274424958126cb1dc71e8b17c4038d0b0da2cc12d8cbee6291c59e902",
  "20261122-98-approvals": "a6031ee0981aec05aa6cd21929a2565222d4c54d2adfc07cdc8a909f36daf441",
  "20261123-03-labels-removed": "338e56a9f46e0dec6312d70dbb68bf1be124b8cd583f4801882fed7c7c84a885",
  "20261123-03-milestones-removed":
    "cadedf2d78200dec05e9f0157c19effd595ff9eefa301d26f94bcacc866904ec",
  "20261123-03-users-removed": "40377fd1f3c6340603a024e198584759bad670a5d42718975b0fdd0305484814",
  "20261122-98-code-owners": "4be5d8e750e011747d48ea28029a8ffa74852a37c747fdf75c291b8e1d7524dc",
  "20261122-96-merges": "5747db1d21c67b4acfce0988efc9d3d4a6af816e4ea7e11bc10962382c353ad8",
  "20261122-96-merge-settings": "bc713ef2fd367a1fe55d34864865a7ea34d0b22f5f2123ce3997862b9f8e36dd",
  "20261122-96-state-causes": "fcba8e8865a2c8e1e2933124c34d61ae70bdc2b1dd6e63a17439c9f23395239d",
  "20261123-03-namespace-search":
    "5bf61c52fcf662dd229cf90d72a6f9307cda95561976c907e6dbbac55eda4142",
  "20261123-03-label-search": "097156a3b8786ac666dfb36900b3ba6b306cd43253ed6486e70d300a643ebfc9",
  "20261123-03-removed-labels-uncounted":
    "81e5127cce2086f02ad8b211ee376bb4cc142a356f34b5e6a06b3127c05c170f",
  "20261123-03-milestone-search":
    "44c8f9c1ff3351cbf96ed51c65de6bd2a6e3dc12a3c6a0190ad65e7771b09924",
  "20261123-03-project-search": "565675f9cfffe806edfd9c7186335b4409fbe2a2d30484f0e4bd06686856fd47",
  "20261123-03-users-by-public-email":
    "b81332327abf6ccb68c8d5a8491aa08519bacb9dbf19fc2110341daecd0e7ae4",
  "20261123-03-user-search": "53885859836c9e98a6b712cc280f61a1d9ea3c7f0de361934a99477529f48cfd",
  "20261123-03-open-issue-counts":
    "e5874cef2e43d060feda8655182d22e3f2d6daec245051bdb174c3691a4812ed",
  "20261123-11-access-requests": "3f02728c56b3d2ca0db87caa17de0cb569a6ea09ac355b3ec53138f9f42f7699",
  "20261123-11-snippet-search": "507d9a4b02a25eac3aad4e290ea1eff722dc1f16350ffb986379151a141e4efa",
  "20261123-11-resource-bots": "f29da7b02794dc2d7ce602e16ba7adb4f97a936fdf2171e4b87bd4711834bab3",
  "20261123-11-user-statuses": "6b1bec4ef38c4a2c81c3183b6a89adfef514d11fe5592e9d0401b7cd9d603c3e",
  "20261123-04-git-facts-of-old-pushes":
    "8d966cb2f2a7d4ea7c8cced5443169b5088bc7f316f313628c9ac6ec6be88c86",
  "20261123-05-approvals-before-merge":
    "4eac567e312edb5496d6659cf7e84c09fb61a776c8d823dcab495e5cf86d7cbf",
  "20261123-05-draft-commits": "0438599b30c4411c1c75019a4e3ef991ca2e81acbb6e083ea90b1db94a9f5435",
  "20261123-05-note-commits": "698880215c395f999f77ba6aca054e15d8892f031b95d74924312d9449499cc6",
  "20261123-05-waiting-merge-requests":
    "1c65876acf79a4775d4e8d0a3e860b217c9a8d21002106d29b42d5e3091f9cac",
  "20261123-05-merge-options": "eac6b72b76402033aba66bd12615352dabf29bc9fc7bd5ecaa656e894c91f2f9",
  "20261123-07-pipelines": "f13181df10b6990796f409dcc63d823935c9301a801d90ee0915410014c2900d",
  "20261123-07-pipelines-artifacts":
    "e187072782de54946bc48d02f3c1a1588f5bfdeed44a9819f54bdbdfdcc1c465",
  "20261124-03-downstream-pipelines":
    "aaac7ae2ed194a027920e945bd7d6cb91b781c842ad1b7813e58ef65d75ebba9",
  "20261124-03-environments-of-jobs":
    "edf4901f4134c7acefc3d976daf0dcbdb3c2567a744d219dca02a0c79d49c255",
  "20261124-03-queued-jobs": "1d44eeabb3ec05af1eaa1c2412f554cdf7ee03c2d8ad66078ef34be75bccaa3c",
  "20261125-30-current-jobs": "0410ffa54a9cf3e37a9170fad862bffdcc1fdf95921e6e93668f6c6a01c7be6d",
  "20261125-31-counted-pipelines":
    "f1bec09d5c3c2785dcf3b6e567116ca3336543f3f0612ac2864acefd5f372448",
  "20261125-20-dotenv-variables":
    "20d0a6e40d1a25e29abfedcab7f0de40265be57882a60e3aeb9a8492ab851d37",
  "20261123-08-10-secret-keys": "6ad60ff112278db84f8e26d8d4a27116de6b59251cb2c63bca0408005d2d1ec1",
  "20261123-08-20-ci-variables": "23190f7533ef60207c4bdd570d8181cebab676d404623088f831f639682172d7",
  "20261123-08-30-environments": "bbde4ea229b40a0713e6ad4aed9e3a39026a4a566327bd6b392fb6124fc34242",
  "20261123-08-31-deployments": "1841b4da8c97b12015935b029736d426b98d8fdfb8e15404a6749365e948b39a",
  "20261123-06-stored-files": "53b041b562049ad90043d9f5144b9292ccd104b46a74f91aaf24361475ca2bda",
  "20261123-08-40-pipeline-triggers":
    "68213ab40cca555199762adb62e80b9cfdcdd29765d9c08040e417b25fb29223",
  "20261123-08-50-pipeline-schedules":
    "931ae8750ffa1305b72fbca972c06c528c28f2fa02b484f071edc8bef730006a",
  "20261123-10-releases": "fe2cd6351917fcce4b56d07337215a00394c45298abffe5f5cfc9fe0977c6e60",
  "20261123-10-packages": "95d02c4c83e65ef01c8c689756a08e91a76e19425e527cbd740045f7565d3ec6",
  "20261123-10-uploads": "22680a1a8f1af8e7f12a8f0d0057c7534fd1aac59c8b17106e1bdf6f33e248b2",
  "20261124-02-merging-later": "b1c3accea5c956b1b2ce06f103b2ccaad16307470dc03508ed9919b494c4f004",
  "20261123-09-hooks": "fd0e0f9b1156355c62b3cf77ada99527e6b89d0d04cc81b93d9280b65f7a7c22",
  "20261124-09-exports": "508d0e6d9f653bcd4b89d679e09c311da8eaf6e52067ec1d850db91a602095c3",
  "20261124-01-git-housekeeping":
    "0fe2a02791d91442ced03b1f3aae2c0101ebcfc48f2a22970be44b05fa2411a7",
  "20261124-04-told-tokens": "06fba8edb65617ec9064a364ab41e861bd04238d7dd9e448b3987867a43e99a9",
  "20261124-05-project-notes": "c2d0bcec7fa519580dbbc9b2e122f87c7ee6ce7b3a50cdd45de3715855bab501",
  "20261124-05-user-follows": "cab62ed63d9f7147273b00bfe975be89032f7bf5ff8b11efefc8829bf0ef5828",
  "20261124-06-broadcast-messages":
    "38708d0300c0f5304cdd4f35c43fc584a2129e18e7bc5d2028e86d403f0cfe7e",
  "20261124-06-deploy-tokens": "aaca625d06215b8a55c31c229429175b0365c220c6c356c4f4a65df56a3e1ea3",
  "20261124-06-member-invitations":
    "8619076c59a8aa485380f6d1eccac09fc3516081420be4927c380af402c9a1e4",
  "20261124-06-user-emails": "6882401eb1a757978559a281c7bb2d4cd679521b203a92d178ffb0c2464c28e5",
  "20261125-10-avatars": "0b09e79bc77e1fec93f586f00c7002febf6a1c6739bb3243029d65f6f7220cd6",
  "20261125-11-merged-commits": "96db27838159f49a9a14d38c42a223c72e01248c66ea992340e175981225702c",
  "20261125-01-topics": "f53817979008632b142892a4ce495614c86f5fea4ac3abadaadea98a6b47572c",
  "20261124-01-project-redirects":
    "42b3eb589b8e953293508b476c4d858d8e9c649f36aa6e46078c14639bb9b659",
  "20261125-80-project-ci-settings":
    "5bb38146b3e7aef1e47d799863688b5c61fa6310073df4b523f528419651c9ff",
  "20261125-70-label-counts-summed":
    "6c030520ad47ddc35d857256c08a8016372aa119d5ff52fabebb1abf4eb616c5",
  "20261125-70-open-issue-counts-summed":
    "ae17a461e1dc90abfb841744238ab668debfbdc058b5d2d2132503791f82cb32",
  "20261125-85-application-settings":
    "33814f9093a0055d871be9cc0724ace1f604e5c6a97b0adf964ded7d25af191c",
  "20261125-86-user-activity": "4f5d45d4c081e05c841bb855c819d94107351f1603cf91b4cf7b68652b4b13f3",
  "20261126-10-02-restricted-visibility-levels":
    "c633c96aa9108ec491fd736089bd5510c66cdc042e044a207d5187139eb53e4e",
  "20261126-40-ci-counts": "19763a2215832ca1103e6e2ffa245343231b4f66e6a9e3a9193194969012cc98",
  "20261126-10-01-avatars-of-topics":
    "313170e9c39a96cf7eec0d9f8d5ad345eba38864bb3562f4e81c2670d7c17bb8",
  "20261126-20-01-drafts": "bf96d5f12e1067346b6bdbbe7ae2d7743f6e78804d831365a509408eaaec2dcf",
  "20261126-20-02-deployed-merge-requests":
    "fbe6c4b95f0ee63bcbb6a3c97699a0baa73bddef5dfa7f716840eaef2a842be7",
  "20261127-01-01-issues-counted":
    "2fcef90d45d4b39ee6f57fb280a21c533419a15da34874e72f3b55088e454a9d",
  "20261127-01-02-merge-requests-counted":
    "76c458fe98fa802698c0b54afa57e45b5df3cfe0e4f89d2653b6c7c1350d0642",
  "20261127-02-issues-due": "4e2b0ba330543bca71673b373baf1d456d37352b6b7401daed61c1a04cb5bff9",
  "20261127-03-event-counts-in-two-places":
    "c5f27632f2fc5b8b8a3a020dc979191a934021b25786f43fe2eaf4b12d603466",
  "20261127-04-notes-by-author": "adaeba673cc4f0a59e4422963d48056356446f9e0a891ff54a4946e351cadd93",
  "20261127-05-issues-open": "888631aad35994d08f655d71d447c2c7f086e0c6ba8cf426862045fa41227400",
  "20261128-31-what-references-reach":
    "1bccfcc67c9797bf7807545198168510f597c21f9969f410effa064668bebcfa",
  "20261128-32-access-to-artifacts":
    "baa1b6f492fb89db32ab4b9cf4cbd5ab19b470a6938c1192abdaa25d983ec2d9",
  "20261128-30-leases": "e77d29c6ac1b2a380a9e7b9374878d81b2b3bed34296b3624893a63e603096df",
  "20261127-90-kept-settings": "2b07dd05fb64c35e4d74ed3be9d1add771d7a28104a3172ff21d5f62aa5abba8",
  "20261127-91-more-of-profiles":
    "f167ff3c7c8216aff371981c6e8adf253bfea45dd5969bb2d9216d3aa0190c6b",
  "20261128-33-creators-of-bots":
    "8a75e355a95fa0d125b74d68c1b8d48c2fdfb5cf0113ff02d34f977b7fb3bf6b",
  "20261128-34-protected-refs-by-id":
    "ef3afef4055557db1c862c6b7d71c14c363f28c7478d76190bd90a96e82dad4e",
  "20261128-35-websites-are-on-the-web":
    "9517ea852ac6138b7f357e0ac6a89a61de23f652ae8542113f2b057bdb3dd98b",
  "20261129-51-projects-by-stars":
    "23f55aec4f0a4c687f09793c99cb844fe97a532c6371821d768977985b645f35",
  "20261129-52-jobs-of-stages": "c62613624573c6f9625741ad4a117473ed99840ee2a99906bd18308a2a7f93bb",
  "20261129-53-kept-application-settings":
    "71e2a1ce9a5a9335b5f57045d8701f5a76f6c1aea5ab5e0daa6f3acdaa3fd3e5",
  "20261128-31-audit-names-of-users":
    "492a915912437661cb1e92ef984aaf0e3f872d16264afbfa1d1d66e1e0dd8a62",
  "20261129-71-owners-of-personal-projects":
    "bd8ff557ed58f546cd3364b02d53cba9114b5314d3342560b00f836e0640b89a",
  "20261129-75-job-token-scope": "8bfa0e50aca2d528d29103f692077af1607fdc096c953fcc4b73bfd20875a3e6",
  "20261129-72-protection-grants":
    "349f8cd6e1f7ac1c7f63816b2c09f52619538d4ecf146d5ae10a82eff72fe2f8",
  "20261201-41-overwriting-imports":
    "ddb7519fa2d3a17148e4163b55fde5ce58c3095e653e5adb5a140111ea42147f",
  "20261206-30-moderated-users": "1f172cf6472dc30111f545bc4615da7b9d2e8aee817ff5fd6388a94b09b60d80",
  "20261206-31-gpg-keys": "dce9f6e9e82a2cbcaf804df8a125bb56a7005d518bee88346d1bc73a15b4aaa0",
  "20261206-32-custom-attributes":
    "90b84fe138f67286e1c5a5f8f987fef902a4c59de10da0421e7be9a862ce646c",
  "20261206-33-service-accounts":
    "065a25c6b3d307e198d6afdfca00563dac4c6d544b234b77702297dd4f24cfbc",
  "20261204-04-context-commits": "0ecbaa715c315ba57edd7d35e85d9dd5efe01863428c71849a9935d53ea493f1",
  "20261215-20-auto-cancel": "8d90ac74d93cacca8ec972360929ec5b2d1325c1688bf4f269bf3ab495f17343",
  "20261214-10-pull-mirrors": "8af50baf747c16dde986d378d69dc44f89001f2434c23b5cd4e0137a8354abe7",
  "20261217-10-suggestions": "13408a90482debdf1a5b12c27d9bde4ab8734d2d8f2608140f7e0148bafbcdf5",
  "20261206-70-remote-mirrors": "e5f94989df27201a1f3879e907e81111832c3a91ec095ebe602e049f96911dd2",
  "20261206-72-terraform-states":
    "fa29f57aaec6bd790aa073106640657597b3110c68172e48423dba6bd9849eb4",
  "20261206-71-feature-flags": "e7e990fd222f3ace8702aca6d485ba73474e96c05eec2c3a277026c69710b44f",
  "20261204-03-fetches-of-projects":
    "e03d932e9330bb843e988f5623efff666a21e344b59ba2a4313dc1d4ef336b30",
  "20261204-02-places-of-audit-events":
    "3a7b89b976834a2267a66799d3e3f1a5261e72cf468f824f5b441da3247baec5",
  "20261204-01-languages": "18641e40224915d7700e6fe4611c087e3d6526f64f0aaf105886c2a790955b67",
  "20261202-02-keys-by-md5": "f5fe2f1e4d97496c1c7a13d3c67a53920712058914009b259aef33011c26ee6a",
  "20261202-01-starred-since": "b70c4a825eac2f359a46623aa801507a8158f6660981cd795cf59242b5f9a347",
  "20261201-40-listeners": "cb47f3405dc8c5fb02653866e94bd8495024ef9dc3da63522a45c33f9cbf5090",
  "20261201-31-snippets-by-age": "b9b974b047cec21deb17bd729d8985cfc04b1ef6989aea13951e90b2db17ba94",
  "20261201-30-issue-filters": "fc74989c8fb348399755f947b09745fc2c0636933987189d27faafeb3a64eb9c",
  "20261130-20-no-lfs": "da1e83c72ced44ae83eee1bc636832a18928892b4e0be967180df68f52326e1b",
  "20261129-90-memberships-of-users":
    "1fb9669e1f96c00aa5ae758c232797905c554b49f09c0ec98e8a5c366c2e785d",
  "20261129-01-secret-urls-of-hooks":
    "796843d30f399316ddcae7bffaab0b38eaeebacc965c1a5426819fcf661eff1b",
  "20261129-60-merging-on-skipped-pipelines":
    "f61d5913bfe6a57df6b38337ca1db6796e7d21d6eafb5fca3f2ad6675b6ae0f6",
  "20261129-61-environments-of-merge-requests":
    "939a99af92e5ab11bac071f4c6d50c9e31e11d3aa96e45b388dc96d410183ed6",
  "20261129-62-tokens-of-ended-jobs":
    "f2fbc4192cebd897fa936ddc288a1212723b5c3fd7ba67986ed395dd397fb307",
  "20261129-63-size-of-artifacts":
    "fecdd7117bbe18d32e49656353a977e9dd5d0f3034c7fef70c8e49767f7db865",
  "20261129-64-size-of-projects-artifacts":
    "7acad99bc82f59fb9d48b56604fd920c4553119fe1f0d5a4a394f31d1b5b7da4",
  "20261129-21-dates-of-tags": "9a5ebfb4f2b56183e2925660152aa9fd02ef9a272426b599e024814d67ce3e64",
  "20261129-80-notes-about-users":
    "7394efc60bf68943ff24fc90ebe4fc768113b411f410072626c3c9c55e58b754",
  "20261129-20-collaboration": "0b007d58004078e7ab2432e4a02d91ff693a2b06c6fbaf0867fe0bbd3ed853a5",
  "20261130-10-files-of-snippets":
    "5772c5fc0e39d4185bafa445aa792aad72fb98f08c95ab4528991baacc05a4fe",
  "20261130-11-reports-of-approval-rules":
    "363675c8eede73e3fa2192f40b854c21c56cd963be551f03558eed1ff2f63ec6",
  "20261130-12-marked-for-deletion":
    "490b6a5b365a033ca7ec51c9ec0c52ef801ba306427f2c0fa2b60181efe62fb1",
  "20261127-92-features": "2aef0b4f02c0dbcf16b7b1740889e834b2c8acfd882c174bfb7db9bb1456a20f",
  "20261203-01-group-links": "e84e895d0ac2c95ec64637ae7823df305dd07e995e5e0a7e675fa48690172e3d",
  "20261206-10-issue-types": "caf876924b817ac1bd435b7a7f3a80193c9a264ce2851a0a172ea90c0ca53467",
  "20261206-11-work-item-parents":
    "102df2f17beb4dedad618e08fad32040e0424fc4331333d27c8bcb95e19a3c83",
  "20261206-12-start-dates": "c5121572afc80581b6599f317737c090881e121fc274d935913fdc8587ab2396",
  "20261206-50-push-rules": "3651f743c637f8a822b4c5e4e564a27f746a7cb5569e91523e93350152c1a902",
  "20261206-51-status-checks": "4abb8de1bbba65c8a082873004821e82d5cd79a0d7058fd419b61f6f7367a8e7",
  "20261206-52-protected-environments":
    "90d2b31d8f6a60f849f9745aef30d649ced830f4527500f42b85fd9a7ff008fd",
  "20261206-53-freeze-periods": "11940267c8b16c606a2c6ccc9f81c4b9def128b193b8fd89949f282064858439",
  "20261206-54-group-approval-settings":
    "2e3ec57f44150ad4dbb2ccf65f9c04190fe45ca0b3de52375282631e716ecf42",
  "20261209-75-epics": "1f8d1b99430c4d1008fc3418b423b6cfdb149ba6fd105c1579b3a1b7dabb4e90",
  "20261208-74-iterations": "5de217d53e9e482d32838e4423c9bf77358a5eddcf417f00edb5c92d84bfdc6c",
  "20261208-75-issue-iterations":
    "8b4d47dc355f5387e54307d7fc9cdcc0ce4ffc3e980b2e45ba311009fe58dc3e",
  "20261208-76-iteration-and-weight-events":
    "91197244a4e24fbe4251aebb4e5c9fadf6aac7694ca8a1d2c5bbbfef210985f1",
  "20261210-76-integrations": "4213749a040d320ad50a01fec8a6112b693522e7614e68d2c8be9b2d43605606",
  "20261212-20-resource-groups": "4265a9d1834e58beaaacf4325ca2a9c59c9d5d3efde5e6c79a90ab690de6f936",
  "20261212-21-merge-trains": "03207d8f62250aaaab513b061ebb8841cdb0a6ee79b226d0aa0498731601ab76",
  "20261212-22-merge-request-blocks":
    "5e17615d73e96308e5ca87a2f21b2a5b85696ed010179eadb50fbb46d7950826",
  "20261212-23-dora": "74250f095c8c56e3d0d9f5f2e3975b9df80cca4909be0d662617316f8e89a81f",
  "20261212-10-hidden-projects-by-namespace":
    "266396d630e756c6b71516860d790cfbda4bc1fc17852ff6c4101c67736a8309",
  "20261212-11-archived-groups": "c823f08947038b5713c32ee3bb2cfa1b717fd5fc894ec3bedbe8541c90cfb98e",
  "20261209-76-counts-of-epics": "1075c779a5bd48a43646c67120474047ecd3ba55758d40c5acf5535f1fe9240f",
  "20261212-30-appearance": "4687bddea73c153d6edd094442d942a3db790f6b3a086cdb865fa8cdb1e61ce3",
  "20261212-31-plan-limits": "edc48b4c73cdeff378ca6e416f9ee5123b0e3fb6a6225f21c512a8f6038ba2c9",
  "20261212-33-member-roles": "4605246086e404a7701c1d06d85f369e49d5f1e05db2c5699c90ffe1688ab187",
  "20261212-32-project-aliases": "9994ee6ce2728b8c29b8764b35caa512b0c35df2d6b4d8d4e705de87866b7826",
  "20261212-35-protection-rules":
    "2ffe33f195faf25adf238fd2aaa65038ee5d1cc439d5cabcdd92427558a9d241",
  "20261212-34-secure-files": "11ff8d2a8eb90761f49d58e469e69dbb96c50556c23413580995e8f1ae4376bc",
  "20261213-02-relation-exports":
    "d1677368c939946501de9bee3071b66c3389864d3946f6c87655ee3d592d360c",
  "20261213-01-group-exports": "6d549b4bf28c67532aa4489cbc2a12adb2e13e01f6add38314781df5478047eb",
  "20261212-38-metric-images": "da2dddba219937ec90e63e37e142ec6a1c1c19a3460983d933ab7193cc4f92a7",
  "20261212-37-security-settings":
    "f10807379931280c2c7f9c68d4b477faf395530ee9ba74d8896874b1ea37eed0",
  "20261212-36-user-agents": "271aab4f9e9fe2b4b391fd17f354f6fb569bd41a310f30610bddd8987000e950",
  "20261213-50-members-by-creation":
    "40ced32a466a981915129d85b3c2e48ee8978719cbfe45378bef2791eb192acc",
  "20261213-51-provisioned-users":
    "52c5b227096303bbcd18e0634c080e2207031c157f3c72bf85dc73faa972ae0b",
  "20261213-70-runners-by-tag": "ccb414eeda690d96996dc867ea0ba557a6db56aa25c9fd01d9fd58dc20e236d9",
  "20261216-01-container-registry":
    "f1789a553fd4fc4faa9a389898c63c1e310843b7e467706d7d1307a8591486bb",
  "20261218-02-short-tokens": "82a7dd766f02b70e8191f3f9826d38e4f95d23ed1da3090364640df5c9be681f",
  "20261218-01-feed-tokens": "3e58c298ecd3efb1c999f4f1d18a2dc4122486f1cc83e4ff69b3adc1077a201f",
  "20261219-01-sites": "96d04029c0fb7c4f7ae09925e55939e9690b985186a20208a4e91ece4b492afc",
  "20261219-02-release-evidences":
    "61541933fb25c09f51c76c7d0554d0702c309a0a82f649a1cabc474e217dfa5f",
  "20261221-01-schedule-inputs": "d16aff0cf830e3ebebe210c397253d4edcb9574353a2a9da79766ad12e061588",
  "20261220-01-signing-keys": "f25a904cd2d8c786b814dd0430bd0f3d9f5ab6972f89c4b72b26c007fa9f4314",
  "20261220-02-openid-grants": "59309411e8bc2f1cd2aba133b77bebc4028c0d922d01328f206074ba2ca39a23",
  "20261220-03-oauth-devices": "06ab120d4f37b13f75620f637ec704a960bb337dda847b3bdb11e38e2703e66e",
  "20261222-01-npm": "55963f5e2e3f305d8d0e3ccc8188fe7140ffeb73a315ba110ff54b8708f450d5",
  "20261225-01-imports-by-url": "aaed7669cf91b0d870a05adbf82c5980cfec0246ed87c4f979a0f5223292fac3",
  "20261226-02-identities": "cb970df0f68d05b26ea7d5a6e461e560785b9975d8e01ac2e0c21a49883243f9",
  "20261226-01-provider-sign-ins":
    "f41fb81eb156b4d9b8dae2038e868603bc5962567f924da46cf014d6131c43e6",
  "20270101-01-imports-from-github":
    "e8f29d6b611ab6dd7587a3ff63a37559f768164903e21dd10437fc8bbce0910b",
  "20261227-01-bulk-imports": "c47f04103a197aeda4d74c822caca4fc37b7bf3ce0cbae54c7d1e4c47ab9aaeb",
  "20261223-01-lfs": "7b10b3c47942056d507607e2caf009a7ffa4e1a0e5edcb8a865e0a4e939b41e2",
  "20261224-01-keys-that-sign-in":
    "d9b107a105d4b833e413230cf36906cfa85e1004c01d69530709d423a9f78331",
  "20261224-02-ssh-host-keys": "3f45bef22365bfd731c6172a4df06b559bd73ff13f260269c04bb07047b2d4b5",
  "20261228-01-helm": "ed62c51ee8f0b6b4f72a4dedd9c912fcdee02b07606c8cefa551b7d6266856f0",
  "20261228-02-nuget": "257d4edd440f69f30c3a17c345b6fc48cf8fc1c071e85d9603745bd8644b16c5",
  "20270102-01-levels-of-features":
    "a50e8ee849002d98ba042476b06a619fa951b4e6e227566571a8b35d67b99908",
  "20270105-01-target-branch-rules":
    "12df12c5c025fc21f14290b7a1aac5e57e0092e09001ed7814f23dbfbc0b8fd7",
  "20270105-02-dependency-list-exports":
    "97cfcc7ff0899affc24417c6b90e7ab761b10eab0b14111475b03c252ca4ec9d",
  "20261230-01-mirrored-pipelines":
    "68e4581626a9e438f661e7f69dba3a2e7f8111c995437bb72289e4c74c9368d4",
  "20261231-01-sign-ups": "2d58895bc0990c8877f084d3374ed33d73d55b84f888cad28f3d6165c923ed82",
  "20261231-02-sign-up-stays-closed":
    "e26a508b6a1a3a8773a7832d75a95cfba5166530a29800c48457f6807941353f",
  "20261231-04-private-contributions":
    "b2b81a75aacd13139547472f9f499094f09af4e05c4d83ab76fe2179a58c0fc6",
  "20261231-03-links-of-invitations":
    "a6b947f219748263a4e9557dd91ec729ed4238095ed0961b2b6c4429085de003",
  "20270120-01-large-files-of-mirrors":
    "1e364578269f60064b429e0cc467adf331c046985468c32ad24e02f9fd2a31b4",
  "20270125-01-formats-of-exports":
    "6715663b26128c43a0ff8b0562d4c97e30dde0163c5714579fb6085303389886",
  "20270121-01-package-settings":
    "232ed0438e56be89882f3f21688d3909c0479c1d34cce4c6e138347a7847da52",
  "20270121-03-large-files-of-push-mirrors":
    "67ad31da08b424e1cea12d35c9a1990f0fcdc53430aa1ca3627ff8700163e28e",
  "20270121-02-lfs-in-order": "4430aab9a33e2192cc2390569c58e6aa4d6a8a098d2906cc9434fc1bd0dedb0b",
  "20270115-01-jobs-by-name": "315ef2eb456c2442908e015e500a9d98dc0b5b4794cd43a1bad64cccaf7b4f5a",
  "20270203-01-placeholders": "ffb89fdf6e2ceed7a57728fcb36375b29db9b622b4d608f01a1ef062a9e1febd",
  "20270204-04-status-checks-of-projects":
    "9cb4a0d0b861c0a840d969a7abad851ab9a0fea2345e184cc4b84a30617f2a6c",
  "20270204-03-access-requests-in-order":
    "13b5c6157a2a9d6fe096a143d2cf8faa140c6955c2051c02b8c3756280e7c445",
  "20270204-02-user-preferences":
    "3326f5b1db0412be7a1554a2b82faaeb43c8eaba058f70eee4e21d7d104aaaba",
  "20270204-01-lists-of-milestones-people-and-iterations":
    "72a428314f0dc422f2ed03bcdc65d84f39501059463be5a2997c0cc45fe8d898",
  "20270115-02-waiting-bridges": "e62d626347ec761b18b2d9ae2572b1be9b27528cadb0c8b67f3554bb1ee48861",
};

const released = allResources.flatMap(({ migrations }) => migrations);

let database: TestDatabase;
let store: Store;
beforeEach(async () => {
  database = await emptyDatabase();
  store = await openStore(database.database);
});
afterEach(async () => {
  await store.close();
  await database.drop();
});

const one: Migration = { id: "20260101-01-one", sql: "create table one (id $id, name $text);\n" };
const two: Migration = {
  id: "20260102-01-two",
  sql: "alter table one add column two $int;\ncreate index one_by_two on one (two);\n",
};

const journal = () => store.rows("select id, applied_at from schema_migrations order by id");

describe("migrate", () => {
  it("runs each step once, in the order of their ids, and records the time", async () => {
    expect(await migrate(store, [two, one], 1000)).toEqual([one.id, two.id]);
    expect(await journal()).toEqual([
      [one.id, 1000],
      [two.id, 1000],
    ]);
    await store.transaction((db) => db.run("insert into one (name, two) values ('x', 2)"));
    expect(await migrate(store, [one, two], 2000)).toEqual([]);
    expect(await journal()).toEqual([
      [one.id, 1000],
      [two.id, 1000],
    ]);
    expect(await store.rows("select name, two from one")).toEqual([["x", 2]]);
  });

  it("runs new steps on a database of an older version", async () => {
    expect(await migrate(store, [one], 1000)).toEqual([one.id]);
    await store.transaction((db) => db.run("insert into one (name) values ('old')"));
    expect(await migrate(store, [one, two], 2000)).toEqual([two.id]);
    expect(await journal()).toEqual([
      [one.id, 1000],
      [two.id, 2000],
    ]);
    expect(await store.rows("select name, two from one")).toEqual([["old", null]]);
  });

  it("refuses a database newer than the code, naming the unknown steps", async () => {
    await migrate(store, [one, two], 1000);
    const failure: unknown = await migrate(store, [one], 2000).catch((error) => error);
    expect(failure).toBeInstanceOf(StoreError);
    expect((failure as Error).message).toContain(two.id);
    expect((failure as Error).message).not.toContain(one.id);
    expect(await journal()).toHaveLength(2);
  });

  it("leaves nothing of a run in which a step fails", async () => {
    const broken: Migration = {
      id: "20260103-01-broken",
      sql: "create table three (id $id);\ninsert into nowhere values (1);\n",
    };
    await expect(migrate(store, [one, broken], 1000)).rejects.toThrow("nowhere");
    expect(await migrate(store, [one, two], 2000)).toEqual([one.id, two.id]);
    await expect((async () => store.rows("select 1 from three"))()).rejects.toThrow("three");

    await expect(migrate(store, [one, two, broken], 3000)).rejects.toThrow("nowhere");
    expect(await journal()).toEqual([
      [one.id, 2000],
      [two.id, 2000],
    ]);
    await expect((async () => store.rows("select 1 from three"))()).rejects.toThrow("three");
  });

  it("runs a statement for one engine only there", async () => {
    const apart: Migration = {
      id: "20260101-01-apart",
      sql: `create table apart (name $text);
$sqlite insert into apart (name) values ('sqlite');
$postgres insert into apart (name) values ('postgres');
`,
    };
    await migrate(store, [apart], 0);
    expect(await store.rows("select name from apart")).toEqual([[engine]]);
  });

  it("supports the column types that both engines share", async () => {
    const kinds: Migration = {
      id: "20260101-01-kinds",
      sql: "create table kinds (id $id, i $int, t $text, b $bytes);\n",
    };
    await migrate(store, [kinds], 0);
    const bytes = new Uint8Array([1, 2]);
    await store.transaction((db) =>
      db.run("insert into kinds (i, t, b) values (?, ?, ?)", [2 ** 40, "text", bytes]),
    );
    expect(await store.all("select * from kinds")).toEqual([
      { id: 1, i: 2 ** 40, t: "text", b: expect.any(Uint8Array) },
    ]);
  });
});

describe("released migrations", () => {
  it("are frozen", () => {
    const hashes = released.map(({ id, sql }) => [
      id,
      createHash("sha256")
        .update(typeof sql === "string" ? sql : JSON.stringify(sql))
        .digest("hex"),
    ]);
    const added = hashes.filter(([id]) => FROZEN[id as string] === undefined);
    const lines = added.map(([id, hash]) => `  "${id}": "${hash}",\n`).join("");
    const add = "a new migration: add these lines to FROZEN in test/store/migrate.test.ts";
    expect(lines, add).toBe("");
    expect(Object.fromEntries(hashes), "a released migration has changed").toEqual(FROZEN);
  });

  it("have ids that sort by age and are unique", () => {
    const ids = released.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^\d{8}-\d{2}-[a-z0-9-]+$/);
  });

  it("can be run one by one, as for databases of every version", async () => {
    const ordered = [...released].sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const [index, migration] of ordered.entries()) {
      expect(await migrate(store, ordered.slice(0, index + 1), index)).toEqual([migration.id]);
    }
    expect(await journal()).toHaveLength(ordered.length);
  });

  it("make tables of the topics of projects, which are one in all cases", async () => {
    const last = "20261125-01-topics";
    await migrate(
      store,
      released.filter(({ id }) => id < last),
      0,
    );
    await store.transaction(async (db) => {
      await db.run(
        `insert into namespaces (kind, name, path, full_name, full_path, created_at, updated_at)
         values ('user', 'a', 'a', 'a', 'a', 0, 0)`,
      );
      for (const [at, [visibility, topics]] of (
        [
          [20, '["Ruby","two\\nlines"]'],
          [0, '["web","ruby","RUBY"]'],
          [20, "[]"],
        ] as const
      ).entries()) {
        await db.run(
          `insert into projects (namespace_id, name, path, full_path, visibility, topics, created_at, updated_at, last_activity_at)
           values (1, ?, ?, ?, ?, ?, ?, 0, 0)`,
          [`p${at}`, `p${at}`, `a/p${at}`, visibility, topics, at],
        );
      }
    });
    await migrate(store, released, 0);
    const found = await store.rows(
      `select x.project_id, t.name, t.title, c.count from project_topics x join topics t on t.id = x.topic_id
       join topic_counts c on c.topic_id = t.id order by x.project_id, x.position`,
    );
    expect(found).toEqual([
      [1, "RUBY", "RUBY", 1],
      [1, "two lines", "two lines", 1],
      [2, "web", "web", 0],
      [2, "RUBY", "RUBY", 1],
    ]);
  });

  it("keep mails still waiting to be sent", async () => {
    const last = "20261122-41-mail-in-outbox";
    await migrate(
      store,
      released.filter(({ id }) => id < last),
      0,
    );
    await store.transaction(async (db) => {
      for (const sql of [
        "insert into users (username, name, email, created_at, updated_at) values ('a', 'A', 'a', 0, 0)",
        `insert into namespaces (kind, name, path, full_name, full_path, created_at, updated_at)
         values ('user', 'a', 'a', 'a', 'a', 0, 0)`,
        `insert into projects (namespace_id, name, path, full_path, created_at, updated_at, last_activity_at)
         values (1, 'p', 'p', 'a/p', 0, 0, 0)`,
        `insert into events (project_id, author_id, action, created_at)
         values (1, 1, 'created', 0), (1, 1, 'closed', 0), (1, 1, 'reopened', 7)`,
        "insert into mail_cursor (id, event_id) values (1, 2)",
        `insert into mail_outbox (event_id, user_id, reason, email, state, attempts, next_attempt_at, error, created_at, updated_at)
         values (1, 1, 'watching', 'a', 'sent', 1, 1, null, 1, 1), (2, 1, 'custom', 'a', 'pending', 3, 9, 'no', 2, 5)`,
      ]) {
        await db.run(sql);
      }
    });
    await migrate(store, released, 0);
    expect(
      await store.rows(
        "select payload, attempts, due_at, error, failed_at from outbox order by id",
      ),
    ).toEqual([
      ['{"event":3}', 0, 7, null, null],
      ['{"event":2,"user":1,"reason":"custom"}', 3, 9, "no", null],
    ]);
  });

  it("keep notes with their emoji and todos, and never give an id again", async () => {
    const last = "20261122-82";
    await migrate(
      store,
      released.filter(({ id }) => id < last),
      0,
    );
    await store.transaction(async (db) => {
      for (const sql of [
        "insert into users (username, name, email, created_at, updated_at) values ('a', 'A', 'a', 0, 0)",
        `insert into namespaces (kind, name, path, full_name, full_path, created_at, updated_at)
         values ('user', 'a', 'a', 'a', 'a', 0, 0)`,
        `insert into projects (namespace_id, name, path, full_path, created_at, updated_at, last_activity_at)
         values (1, 'p', 'p', 'a/p', 0, 0, 0)`,
        "insert into issues (iid, project_id, title, created_at, updated_at) values (1, 1, 'i', 0, 0)",
        `insert into notes (project_id, issue_id, author_id, body, created_at, updated_at)
         values (1, 1, 1, 'one', 2, 3), (1, 1, null, 'two', 4, 5), (1, 1, 1, 'gone', 6, 7)`,
        "delete from notes where id = 3",
        `insert into award_emoji (name, user_id, issue_id, note_id, created_at, updated_at)
         values ('tada', 1, 1, null, 0, 0), ('heart', 1, null, 2, 0, 0)`,
        `insert into todos (user_id, project_id, issue_id, note_id, author_id, action, created_at, updated_at)
         values (1, 1, 1, 1, 1, 'mentioned', 0, 0), (1, 1, 1, null, 1, 'marked', 0, 0)`,
      ]) {
        await db.run(sql);
      }
    });
    await migrate(store, released, 0);
    expect(
      await store.rows(
        `select id, issue_id, author_id, body, thread_id, reply, internal, created_at, updated_at
         from notes order by id`,
      ),
    ).toEqual([
      [1, 1, 1, "one", null, 0, 0, 2, 3],
      [2, 1, null, "two", null, 0, 0, 4, 5],
    ]);
    expect(await store.rows("select id, issue_id, note_id from award_emoji order by id")).toEqual([
      [1, 1, null],
      [2, null, 2],
    ]);
    expect(await store.rows("select id, note_id from todos order by id")).toEqual([
      [1, 1],
      [2, null],
    ]);
    const added = await store.transaction(async (db) => {
      await db.run("delete from notes where id = 2");
      return db.rows(
        `insert into notes (project_id, issue_id, body, created_at, updated_at)
         values (1, 1, 'new', 0, 0) returning id`,
      );
    });
    expect(added).toEqual([[4]]);
    expect(await store.rows("select id from award_emoji")).toEqual([[1]]);
  });

  it("make comments on commits notes, with their lines", async () => {
    const last = "20261122-97-notes-on-commits";
    await migrate(
      store,
      released.filter(({ id }) => id < last),
      0,
    );
    const shas = ["a".repeat(40), "b".repeat(40)];
    await store.transaction(async (db) => {
      for (const sql of [
        "insert into users (username, name, email, created_at, updated_at) values ('a', 'A', 'a', 0, 0)",
        `insert into namespaces (kind, name, path, full_name, full_path, created_at, updated_at)
         values ('user', 'a', 'a', 'a', 'a', 0, 0)`,
        `insert into projects (namespace_id, name, path, full_path, created_at, updated_at, last_activity_at)
         values (1, 'p', 'p', 'a/p', 0, 0, 0)`,
        `insert into snippets (project_id, author_id, title, file_name, content, visibility, created_at, updated_at)
         values (1, 1, 's', 's', 's', 0, 0, 0)`,
        `insert into notes (project_id, snippet_id, author_id, body, internal, thread_id, reply, resolved_at, resolved_by_id, created_at, updated_at)
         values (1, 1, 1, 'one', 1, 1, 0, 8, 1, 2, 3), (1, 1, 1, 'two', 1, 1, 1, null, null, 4, 5)`,
        "insert into award_emoji (name, user_id, note_id, created_at, updated_at) values ('heart', 1, 2, 0, 0)",
        "insert into issues (iid, project_id, title, created_at, updated_at) values (1, 1, 'i', 0, 0)",
        `insert into todos (user_id, project_id, issue_id, note_id, author_id, action, created_at, updated_at)
         values (1, 1, 1, 1, 1, 'mentioned', 0, 0)`,
        `insert into commit_comments (project_id, commit_id, author_id, note, path, line, line_type, created_at)
         values (1, '${shas[0]}', 1, 'whole', null, null, null, 10), (1, '${shas[1]}', null, 'line', 'x', 7, 'new', 9),
           (1, '${shas[0]}', 1, 'again', 'y', 8, 'old', 11)`,
      ]) {
        await db.run(sql);
      }
    });
    await migrate(store, released, 0);
    expect(
      await store.rows(
        `select nt.id, nc.project_id, nc.sha, nt.author_id, nt.body, nt.thread_id, nt.created_at, nt.updated_at,
           np.path, np.line, np.line_type
         from notes nt join noted_commits nc on nc.id = nt.noted_commit_id
         left join note_positions np on np.note_id = nt.id order by nt.id`,
      ),
    ).toEqual([
      [3, 1, shas[0], 1, "whole", null, 10, 10, null, null, null],
      [4, 1, shas[1], null, "line", null, 9, 9, "x", 7, "new"],
      [5, 1, shas[0], 1, "again", null, 11, 11, "y", 8, "old"],
    ]);
    expect(
      await store.rows(
        `select id, snippet_id, body, internal, thread_id, reply, resolved_at, resolved_by_id, created_at, updated_at
         from notes where snippet_id is not null order by id`,
      ),
    ).toEqual([
      [1, 1, "one", 1, 1, 0, 8, 1, 2, 3],
      [2, 1, "two", 1, 1, 1, null, null, 4, 5],
    ]);
    expect(await store.rows("select note_id from award_emoji")).toEqual([[2]]);
    expect(await store.rows("select note_id from todos")).toEqual([[1]]);
  });

  it("keep boards with their lists, and add the open and closed ones", async () => {
    const last = "20261122-84-project-boards";
    await migrate(
      store,
      released.filter(({ id }) => id < last),
      0,
    );
    await store.transaction(async (db) => {
      for (const sql of [
        `insert into namespaces (kind, name, path, full_name, full_path, created_at, updated_at)
         values ('group', 'g', 'g', 'g', 'g', 0, 0)`,
        `insert into labels (namespace_id, name, color, created_at, updated_at)
         values (1, 'a', '#000000', 0, 0), (1, 'b', '#000000', 0, 0)`,
        "insert into boards (namespace_id, name, weight, created_at, updated_at) values (1, 'x', 4, 5, 6), (1, 'y', null, 7, 8)",
        "insert into board_labels (board_id, label_id) values (1, 2)",
        `insert into board_lists (board_id, label_id, position, created_at, updated_at)
         values (1, 2, 0, 5, 6), (1, 1, 1, 5, 6)`,
      ]) {
        await db.run(sql);
      }
    });
    await migrate(store, released, 0);
    expect(
      await store.rows(
        "select id, namespace_id, project_id, name, weight, hide_backlog_list, updated_at from boards order by id",
      ),
    ).toEqual([
      [1, 1, null, "x", 4, 0, 6],
      [2, 1, null, "y", null, 0, 8],
    ]);
    expect(await store.rows("select board_id, label_id from board_labels")).toEqual([[1, 2]]);
    expect(
      await store.rows(
        "select id, board_id, list_type, label_id, position from board_lists order by id",
      ),
    ).toEqual([
      [1, 1, "label", 2, 0],
      [2, 1, "label", 1, 1],
      [3, 1, "backlog", null, null],
      [4, 2, "backlog", null, null],
      [5, 1, "closed", null, null],
      [6, 2, "closed", null, null],
    ]);
  });

  it("keep the counts of events", async () => {
    const last = "20261127-03-event-counts-in-two-places";
    await migrate(
      store,
      released.filter(({ id }) => id < last),
      0,
    );
    await store.transaction(async (db) => {
      for (const sql of [
        `insert into users (username, name, email, created_at, updated_at)
         values ('a', 'A', 'a', 0, 0), ('b', 'B', 'b', 0, 0)`,
        `insert into namespaces (kind, name, path, full_name, full_path, created_at, updated_at)
         values ('user', 'a', 'a', 'a', 'a', 0, 0)`,
        `insert into projects (namespace_id, name, path, full_path, created_at, updated_at, last_activity_at)
         values (1, 'p', 'p', 'a/p', 0, 0, 0), (1, 'q', 'q', 'a/q', 0, 0, 0)`,
        "insert into event_counts (project_id, author_id, events) values (2, 1, 3), (1, 2, 5), (1, 1, 0)",
      ]) {
        await db.run(sql);
      }
    });
    await migrate(store, released, 0);
    const counts = () =>
      store.rows("select project_id, author_id, events from event_counts order by 1, 2");
    expect(await counts()).toEqual([
      [1, 1, 0],
      [1, 2, 5],
      [2, 1, 3],
    ]);
    await store.transaction((db) => db.run("delete from users where id = 1"));
    expect(await counts()).toEqual([[1, 2, 5]]);
  });

  it("make whoever has a personal project its owner, and nobody else", async () => {
    const last = "20261129-71-owners-of-personal-projects";
    await migrate(
      store,
      released.filter(({ id }) => id < last),
      0,
    );
    await store.transaction(async (db) => {
      for (const sql of [
        `insert into users (username, name, email, created_at, updated_at)
         values ('a', 'A', 'a', 0, 0), ('b', 'B', 'b', 0, 0)`,
        `insert into namespaces (kind, name, path, full_name, full_path, owner_id, created_at, updated_at)
         values ('user', 'a', 'a', 'a', 'a', 1, 0, 0)`,
        `insert into projects (namespace_id, name, path, full_path, created_at, updated_at, last_activity_at)
         values (1, 'p', 'p', 'a/p', 0, 0, 0)`,
        `insert into members (project_id, user_id, access_level, created_at, updated_at)
         values (1, 1, 40, 0, 0), (1, 2, 40, 0, 0)`,
      ]) {
        await db.run(sql);
      }
    });
    await migrate(store, released, 0);
    expect(await store.rows("select user_id, access_level from members order by 1")).toEqual([
      [1, 50],
      [2, 40],
    ]);
  });

  it("make grants of the levels of rules", async () => {
    const last = "20261129-72-protection-grants";
    await migrate(
      store,
      released.filter(({ id }) => id < last),
      0,
    );
    await store.transaction(async (db) => {
      for (const sql of [
        `insert into namespaces (kind, name, path, full_name, full_path, created_at, updated_at)
         values ('group', 'a', 'a', 'a', 'a', 0, 0)`,
        `insert into projects (namespace_id, name, path, full_path, created_at, updated_at, last_activity_at)
         values (1, 'p', 'p', 'a/p', 0, 0, 0)`,
        `insert into protected_branches (project_id, name, is_wildcard, push_level, merge_level, created_at, updated_at)
         values (1, 'main', 0, 0, 30, 0, 0), (1, 'x*', 1, 40, 60, 0, 0)`,
        `insert into protected_tags (project_id, name, is_wildcard, create_level, created_at, updated_at)
         values (1, 'v*', 1, 0, 0, 0)`,
      ]) {
        await db.run(sql);
      }
    });
    await migrate(store, released, 0);
    const grants = await store.rows(
      `select branch_id, tag_id, action, access_level, user_id, group_id, deploy_key_id
       from protection_grants order by id`,
    );
    const none = [null, null, null];
    expect(grants).toEqual([
      [1, null, "push", 0, ...none],
      [2, null, "push", 40, ...none],
      [1, null, "merge", 30, ...none],
      [2, null, "merge", 60, ...none],
      [1, null, "unprotect", 40, ...none],
      [2, null, "unprotect", 40, ...none],
      [null, 1, "create", 0, ...none],
    ]);
  });

  it("move the URLs of hooks that may have secrets to what is encrypted", async () => {
    const last = "20261129-01-secret-urls-of-hooks";
    await migrate(
      store,
      released.filter(({ id }) => id < last),
      0,
    );
    const urls = ["https://a.test/in", "https://a.test/in?token=b", "https://b:c@a.test"];
    await store.transaction(async (db) => {
      for (const url of urls) {
        await db.run(
          "insert into hooks (url, events, base, created_at, updated_at) values (?, 1, 'b', 0, 0)",
          [url],
        );
      }
    });
    await migrate(store, released, 0);
    expect(await store.rows("select id, url from hooks order by id")).toEqual([
      [1, urls[0]],
      [2, ""],
      [3, ""],
    ]);
    const moved = "select hook_id, kind, name, value from hook_secrets order by hook_id";
    expect(await store.rows(moved)).toEqual([
      [2, "url", "", urls[1]],
      [3, "url", "", urls[2]],
    ]);
  });

  it("index every foreign key, so that deleting a parent doesn't scan whole tables", async () => {
    await migrate(store, released, 0);
    expect(await unindexedForeignKeys()).toEqual([]);
  });
});

/** Foreign keys that are not the first column of an index, as `table.column`. */
async function unindexedForeignKeys(): Promise<string[]> {
  const { keys, indexed } =
    engine === "sqlite"
      ? {
          keys: `select t.name || '.' || k."from" from sqlite_schema t
            join pragma_foreign_key_list(t.name) k where t.type = 'table' order by 1`,
          indexed: `select t.name || '.' || c.name from sqlite_schema t
            join pragma_index_list(t.name) i join pragma_index_info(i.name) c
            where t.type = 'table' and c.seqno = 0
            union all
            select t.name || '.' || c.name from sqlite_schema t join pragma_table_info(t.name) c
            where t.type = 'table' and c.pk = 1`,
        }
      : {
          keys: `select c.conrelid::regclass || '.' || a.attname from pg_constraint c
            join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
            where c.contype = 'f' order by 1`,
          indexed: `select i.indrelid::regclass || '.' || a.attname from pg_index i
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]`,
        };
  const have = new Set((await store.rows(indexed)).map(([name]) => name));
  return (await store.rows(keys)).map(([name]) => String(name)).filter((name) => !have.has(name));
}

describe("createApp", () => {
  it("opens one database ten times at once", async () => {
    const apps = await Promise.all(
      Array.from({ length: 10 }, () => createApp({ database: database.database })),
    );
    await apps[0]?.admin.users.create({ username: "one", name: "One", email: "one@example.com" });
    for (const app of apps) expect(await app.admin.users.list()).toHaveLength(1);
    await Promise.all(apps.map((app) => app.close()));
    expect(await journal()).toHaveLength(released.length);
  });

  it("opens one database in several processes at once, all of which can write", async () => {
    const { file, remove } = await programOf(new URL("_create-user.ts", import.meta.url));
    const node = [file, database.database];
    await Promise.all(Array.from({ length: 6 }, () => promisify(execFile)(process.execPath, node)));
    await remove();
    expect(await journal()).toHaveLength(released.length);
    expect(await store.rows("select count(*) from users")).toEqual([[6]]);
  });

  it("refuses a database newer than the code, and closes it", async () => {
    await migrate(store, [...released, { id: "29990101-01-future", sql: "" }], 0);
    await expect(createApp({ database: database.database })).rejects.toThrow(
      "the database is newer than this pm-api: it has 29990101-01-future",
    );
  });
});
