// What is wrong with a cell, and the types of its variables.
import { Cell } from "./cell.mjs";
import { Faults } from "./faults.mjs";
import { TypePrinter } from "./printed.mjs";

const CELL = "/cell.js";
const DECLARATIONS = "/declarations.d.ts";
const VARIABLES = "/variables.d.ts";
const LIBRARY = "/library";
// Texts whose trees are kept.
const KEPT = 16;
// Checks of one cell, each with more variables that may hold anything.
const ROUNDS = 4;

// A cell is a module: it may wait at its top, and its variables may have the names of earlier ones.
const MODULE = ts => ({
  languageVersion: ts.ScriptTarget.ESNext,
  setExternalModuleIndicator: file => {
    file.externalModuleIndicator = true;
  },
});

export class Checker {
  constructor(ts, library) {
    this.ts = ts;
    this.trees = new Map();
    this.library = new Map();
    library.forEach((text, number) => {
      const name = `${LIBRARY}${number}.d.ts`;
      this.library.set(name, ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true));
    });
    this.last = undefined;
    this.options = {
      allowJs: true,
      checkJs: true,
      noEmit: true,
      noLib: true,
      noResolve: true,
      allowUnreachableCode: false,
      strict: false,
      skipLibCheck: true,
      skipDefaultLibCheck: true,
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      types: [],
    };
  }

  // A request has the declarations of what is on offer, types of variables of earlier cells by
  // name, the cell, and names of members that earlier cells added to values.
  check({ declarations, variables, cell, added }) {
    const loose = { variables: new Map(Object.entries(variables)), names: new Set() };
    const changed = new Set();
    for (let round = 0; ; round++) {
      const made = this.program(declarations, loose, cell);
      const found = new Faults(this.ts, made, added);
      const more = found.reassigned();
      if (more.length > 0 && round < ROUNDS) {
        for (const { name, end } of more) {
          if (end !== null) loose.names.add(end);
          else {
            loose.variables.set(name, "any");
            changed.add(name);
          }
        }
        continue;
      }
      const { assigned, added: members } = found.effects();
      const printed = new TypePrinter(this.ts, made).variables([...changed, ...assigned]);
      return { faults: found.all(), variables: printed, added: members };
    }
  }

  parsed(name, text) {
    const key = `${name}\n${text}`;
    let tree = this.trees.get(key);
    if (tree === undefined) {
      tree = this.ts.createSourceFile(name, text, this.ts.ScriptTarget.ESNext, true);
      if (this.trees.size >= KEPT) this.trees.delete(this.trees.keys().next().value);
    } else {
      this.trees.delete(key); // it comes behind the others
    }
    this.trees.set(key, tree);
    return tree;
  }

  program(declarations, loose, source) {
    const { ts } = this;
    const earlier = [...loose.variables].map(([name, type]) => `declare var ${name}: ${type};`);
    const cell = new Cell(source, loose.names);
    const files = new Map([
      ...this.library,
      [DECLARATIONS, this.parsed(DECLARATIONS, declarations)],
      [VARIABLES, this.parsed(VARIABLES, earlier.join("\n"))],
      [CELL, ts.createSourceFile(CELL, cell.text, MODULE(ts), true)],
    ]);
    const program = ts.createProgram({
      rootNames: [...files.keys()],
      options: this.options,
      oldProgram: this.last,
      host: {
        getSourceFile: name => files.get(name),
        getDefaultLibFileName: () => LIBRARY,
        getCurrentDirectory: () => "/",
        getCanonicalFileName: name => name,
        useCaseSensitiveFileNames: () => true,
        getNewLine: () => "\n",
        fileExists: name => files.has(name),
        readFile: () => undefined,
        directoryExists: () => false,
        getDirectories: () => [],
        writeFile: () => {},
      },
    });
    this.last = program;
    const file = files.get(CELL);
    return {
      cell,
      file,
      checker: program.getTypeChecker(),
      diagnostics: program.getSemanticDiagnostics(file),
      declared: files.get(DECLARATIONS),
      earlier: files.get(VARIABLES),
      library: new Set(this.library.values()),
    };
  }
}
