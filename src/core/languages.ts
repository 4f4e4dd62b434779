import { Glob } from "./globs.ts";

/** Languages by name: their colour, as linguist has it, and the extensions and names of their files. */
const LANGUAGES: readonly (readonly [name: string, color: string, files: string])[] = [
  ["Ada", "#02f88c", ".adb .ads"],
  ["Assembly", "#6E4C13", ".asm .s .nasm"],
  ["Astro", "#ff5a03", ".astro"],
  ["Batchfile", "#C1F12E", ".bat .cmd"],
  ["Blade", "#f7523f", ".blade.php"],
  ["C", "#555555", ".c .h .idc"],
  ["C#", "#178600", ".cs .csx"],
  ["C++", "#f34b7d", ".cpp .cc .cxx .c++ .hpp .hh .hxx .h++ .inl .ipp .tcc"],
  ["CMake", "#DA3434", ".cmake CMakeLists.txt"],
  ["CSS", "#663399", ".css"],
  ["Clojure", "#db5855", ".clj .cljs .cljc .boot"],
  ["CoffeeScript", "#244776", ".coffee Cakefile"],
  ["Common Lisp", "#3fb68b", ".lisp .asd .cl .lsp"],
  ["Crystal", "#000100", ".cr"],
  ["Cuda", "#3A4E3A", ".cu .cuh"],
  ["Cython", "#fedf5b", ".pyx .pxd .pxi"],
  ["D", "#ba595e", ".d .di"],
  ["Dart", "#00B4AB", ".dart"],
  ["Dockerfile", "#384d54", ".dockerfile .containerfile Dockerfile Containerfile"],
  ["EJS", "#a91e50", ".ejs"],
  ["Elixir", "#6e4a7e", ".ex .exs mix.lock"],
  ["Elm", "#60B5CC", ".elm"],
  ["Emacs Lisp", "#c065db", ".el .emacs"],
  ["Erlang", "#B83998", ".erl .hrl .escript rebar.config"],
  ["F#", "#b845fc", ".fs .fsi .fsx"],
  ["Fortran", "#4d41b1", ".f .f90 .f95 .f03 .f08 .for"],
  ["GLSL", "#5686a5", ".glsl .vert .frag .geom .comp"],
  ["Go", "#00ADD8", ".go"],
  ["Groovy", "#4298b8", ".groovy .gvy Jenkinsfile"],
  ["HCL", "#844FBA", ".hcl .tf .tfvars .nomad"],
  ["HTML", "#e34c26", ".html .htm .xht .xhtml .html.hl .erb .rhtml"],
  ["Haml", "#ece2a9", ".haml"],
  ["Handlebars", "#f7931e", ".handlebars .hbs"],
  ["Haskell", "#5e5086", ".hs .hs-boot .hsc .lhs"],
  ["Java", "#b07219", ".java .jav .jsp"],
  ["JavaScript", "#f1e05a", ".js .cjs .mjs .jsx .es6 .jsm Jakefile"],
  ["Jinja", "#a52a22", ".jinja .j2 .jinja2"],
  ["Julia", "#a270ba", ".jl"],
  ["Jupyter Notebook", "#DA5B0B", ".ipynb"],
  ["Kotlin", "#A97BFF", ".kt .kts .ktm"],
  ["Less", "#1d365d", ".less"],
  ["Lua", "#000080", ".lua .rockspec"],
  ["Makefile", "#427819", ".mk .mak .make Makefile makefile GNUmakefile"],
  ["Meson", "#007800", "meson.build meson_options.txt"],
  ["Mustache", "#724b3b", ".mustache"],
  ["Nim", "#ffc200", ".nim .nims .nimble"],
  ["Nix", "#7e7eff", ".nix"],
  ["OCaml", "#ef7a08", ".ml .mli .mll .mly"],
  ["Objective-C", "#438eff", ".m"],
  ["Objective-C++", "#6866fb", ".mm"],
  ["PHP", "#4F5D95", ".php .phtml .php3 .php4 .php5 .phps"],
  ["Pascal", "#E3F171", ".pas .dpr .lpr"],
  ["Perl", "#0298c3", ".pl .pm .t .psgi cpanfile"],
  ["PowerShell", "#012456", ".ps1 .psm1 .psd1"],
  ["Pug", "#a86454", ".pug .jade"],
  ["Puppet", "#302B6D", ".pp"],
  ["PureScript", "#1D222D", ".purs"],
  ["Python", "#3572A5", ".py .pyw .pyi .py3 .wsgi SConstruct SConscript"],
  ["QML", "#44a51c", ".qml"],
  ["R", "#198CE7", ".r .rd .rsx .Rprofile"],
  ["Racket", "#3c5caa", ".rkt .rktd .rktl"],
  ["Raku", "#0000fb", ".raku .rakumod .p6"],
  [
    "Ruby",
    "#701516",
    ".rb .rake .gemspec .ru .builder .podspec Rakefile Gemfile Podfile Vagrantfile",
  ],
  ["Rust", "#dea584", ".rs"],
  ["SCSS", "#c6538c", ".scss"],
  ["Sass", "#a53b70", ".sass"],
  ["Scala", "#c22d40", ".scala .sbt .sc"],
  ["Scheme", "#1e4aec", ".scm .sld .ss"],
  ["Shell", "#89e051", ".sh .bash .zsh .ksh .bats .command .bashrc .bash_profile .profile .zshrc"],
  ["Slim", "#2b2b2b", ".slim"],
  ["Smarty", "#f0c040", ".tpl"],
  ["Solidity", "#AA6746", ".sol"],
  ["Starlark", "#76d275", ".bzl .star BUILD BUILD.bazel WORKSPACE Tiltfile"],
  ["Stylus", "#ff6347", ".styl"],
  ["Svelte", "#ff3e00", ".svelte"],
  ["Swift", "#F05138", ".swift"],
  ["SystemVerilog", "#DAE1C2", ".sv .svh"],
  ["Tcl", "#e4cc98", ".tcl .adp"],
  ["TeX", "#3D6117", ".tex .sty .cls .ltx .bbx .cbx .dtx"],
  ["Thrift", "#D12127", ".thrift"],
  ["Twig", "#c1d026", ".twig"],
  ["TypeScript", "#3178c6", ".ts .cts .mts .tsx"],
  ["VHDL", "#adb2cb", ".vhd .vhdl"],
  ["Vala", "#a56de2", ".vala .vapi"],
  ["Verilog", "#b2b7f8", ".v .veo"],
  ["Vim Script", "#199f4b", ".vim .vimrc _vimrc"],
  ["Visual Basic .NET", "#945db7", ".vb .vbhtml"],
  ["Vue", "#41b883", ".vue"],
  ["WebAssembly", "#04133b", ".wat .wast"],
  ["XSLT", "#EB8CEB", ".xslt .xsl"],
  ["Zig", "#ec915c", ".zig .zig.zon"],
];

const byFile = new Map(
  LANGUAGES.flatMap(([name, , files]) =>
    files.split(" ").map((file) => [file.toLowerCase(), name]),
  ),
);
const colors = new Map(LANGUAGES.map(([name, color]) => [name, color]));
const byName = new Map(
  LANGUAGES.map(([name]) => [name.toLowerCase().replaceAll(" ", "-"), name] as const),
);

/** The colour of a language, as `#rrggbb`. */
export const colorOf = (language: string): string | undefined => colors.get(language);

/** The language of a file by its name: the whole of it, or what begins with its last dots. */
export function languageOf(fileName: string): string | undefined {
  const name = fileName.toLowerCase();
  const whole = byFile.get(name);
  if (whole) return whole;
  const last = name.lastIndexOf(".");
  const before = last > 0 ? name.lastIndexOf(".", last - 1) : -1;
  return (before >= 0 ? byFile.get(name.slice(before)) : undefined) ?? byFile.get(name.slice(last));
}

/** Paths of what others wrote, of what programs wrote, and of documentation: the main rules of linguist. */
const LEFT_OUT = new RegExp(
  [
    "(^|/)(vendors?|node_modules|bower_components|dist|cache|Pods|Carthage|extern(al)?|\\.yarn|\\.venv)/",
    "^(deps|[Dd]ependencies|[Dd]ocs?|[Mm]an|[Ee]xamples|[Dd]emos?|[Ss]amples?)/",
    "(^|/)(3rd|[Tt]hird)[-_]?[Pp]arty/",
    "(^|/)Godeps/_workspace/",
    "(^|/)([Dd]ocumentation|[Gg]roovydoc|[Jj]avadoc)/",
    "(^|/)([Tt]est|[Ss]pecs?)/[Ff]ixtures/",
    "(^|/)(gradlew|mvnw)(\\.bat|\\.cmd)?$",
    "(^|/)(configure|config\\.(guess|sub)|ltmain\\.sh)$",
    "[.-]min\\.(js|css)$",
    "(^|/)(jquery|bootstrap|react(-dom)?|angular|d3|underscore|modernizr)([.-][^/]*)?\\.(js|css|less|scss)$",
    "(\\.pb\\.(go|cc|h)|_pb2(_grpc)?\\.py|_pb\\.js|\\.designer\\.cs|\\.g\\.dart)$",
  ].join("|"),
);

/** What an attribute of Git says: set, unset, or a text. */
type Said = boolean | string;

/** A line of `.gitattributes` that is about languages. */
interface Rule {
  readonly glob: Glob;
  /** Names in its pattern. */
  readonly names: number;
  readonly says: ReadonlyMap<string, Said>;
}

/** Rules of a file that are looked at: each is tried with every path. */
const MOST_RULES = 50;

function readRules(attributes: string): Rule[] {
  const rules: Rule[] = [];
  for (const line of attributes.split("\n")) {
    const [pattern = "", ...words] = line.trim().split(/\s+/);
    const says = new Map<string, Said>();
    for (const word of words) {
      const [, not, name, text] = /^([-!]?)linguist-([a-z]+)(?:=(.*))?$/.exec(word) ?? [];
      if (name) says.set(name, not || text === "false" ? false : (text ?? true));
    }
    if (says.size === 0 || /^[#!]/.test(pattern)) continue;
    const bare = pattern.replace(/^\//, "").replace(/\/\*\*$/, "/**/*");
    const isRooted = pattern.includes("/");
    const glob = new Glob(`${isRooted ? "/" : "/**/"}${bare}`);
    rules.push({ glob, names: bare.split("/").length + 1, says });
    if (rules.length === MOST_RULES) break;
  }
  return rules;
}

/** How the files of a repository are told apart, by their paths and a `.gitattributes` at its root. */
export class Linguist {
  readonly #rules: readonly Rule[];
  readonly #names: number;

  /** @param attributes the text of `.gitattributes` */
  constructor(attributes: string) {
    this.#rules = readRules(attributes);
    this.#names = this.#rules.reduce((total, { names }) => total + names, 0);
  }

  /** Steps that looking at a path may take: each of its names is compared with each of the rules. */
  stepsFor(path: string): number {
    return this.#names === 0 ? 0 : this.#names * path.split("/").length;
  }

  /** Whether nothing in a folder counts. @param path with a slash at its end */
  isLeftOut(path: string): boolean {
    return this.#rules.length === 0 && LEFT_OUT.test(path);
  }

  /** The language that a file counts for; `undefined` if it counts for none. */
  languageOf(path: string): string | undefined {
    const said = new Map<string, Said>();
    const names = this.#rules.length > 0 ? path.split("/") : [];
    for (const { glob, says } of this.#rules) {
      if (glob.fits(names)) for (const [name, value] of says) said.set(name, value);
    }
    if (said.get("detectable") === false) return undefined;
    const kinds = ["vendored", "generated", "documentation"].map((kind) => said.get(kind));
    if (kinds.some(Boolean)) return undefined;
    // One that says of a file that it is none of these counts, whatever its path.
    if (!kinds.includes(false) && LEFT_OUT.test(path)) return undefined;
    const named = said.get("language");
    if (typeof named === "string") return byName.get(named.toLowerCase());
    return languageOf(path.slice(path.lastIndexOf("/") + 1));
  }
}
