// Programs for `test_blanking.py`: a title, what they show, and TypeScript of every kind.
//// annotation
//= [1,true]
const x: number = 1; let y: string | undefined; show(x, y === undefined);
//// annotation without a semicolon
//= [true,["x"]]
let a: number
let b: [string, number?] = ["x"]
show(a === undefined, b)
//// function types
//= [1,"z"]
const f: (a: number, b?: string) => void = (a, b) => show(a, b); f(1, "z");
//// object type over lines
//= [1,"d"]
const o: {
  a: number;
  b?: { c: string }[];
} = { a: 1, b: [{ c: "d" }] };
show(o.a, o.b![0].c);
//// optional parameters
//= ["1undefined0","1x2"]
function f(a: number, b?: string, ...rest: boolean[]): string { return `${a}${b}${rest.length}`; }
show(f(1), f(1, "x", true, false));
//// pattern parameters
//= [6,15]
function f({ a, b = 2 }: { a: number; b?: number }, [c]: number[] = [3]): number { return a + b + c; }
show(f({ a: 1 }), f({ a: 1, b: 5 }, [9]));
//// this parameter
//= [12,7]
function f(this: { n: number }, by: number): number { return this.n * by; }
function g(this: any) { return this.n; }
show(f.call({ n: 4 }, 3), g.call({ n: 7 }));
//// this parameter with a comment
//= [6]
const h = { n: 5, m(this: { n: number } /* self */ , a: number) { return this.n + a } }; show(h.m(1));
//// generics
//= [3,"q",[[1]]]
function id<T>(x: T): T { return x; }
const first = <T,>(xs: T[]): T | undefined => xs[0];
show(id<number>(3), first<string>(["q"]), id<Array<Array<number>>>([[1]]));
//// generics with constraints
//= [2]
function pick<T extends object, K extends keyof T = keyof T>(o: T, k: K): T[K] { return o[k]; }
show(pick({ a: 1, b: 2 }, "b"));
//// const type parameters
//= [[1,"a"]]
function c<const T extends readonly unknown[]>(x: T): T { return x; } show(c([1, "a"]));
//// arrow with a result type
//= ["4"]
const f = (a: number): string => String(a); show(f(4));
//// arrow with a result type over lines
//= [3]
const f = (a: number): {
  b: number;
} => ({ b: a });
show(f(3).b);
//// arrow without parameters and a result type over lines
//= [[1,"x"]]
const f = (): [
  number, string
] => [1, "x"];
show(f());
//// arrow with a result type over lines and a trailing comma
//= [3]
const f = (
  a: number,
  b: number,
): Promise<
  number
> extends infer X ? number : never => a + b;
show(f(1, 2));
//// async arrow with type parameters over lines
//= ["function",1]
const f = async <
  T,
>(x: T): Promise<T> => x;
show(typeof f, f.length);
//// return of an arrow with type parameters over lines
//= [5]
function g() {
  return <
    T
  >(x: T): T => x;
}
show(g()(5));
//// type guards
//= [true,false]
function isText(x: unknown): x is string { return typeof x === "string"; }
function check(x: any): asserts x is number { if (typeof x !== "number") throw new Error("no"); }
function on(x: any): asserts x {}
check(1); on(1); show(isText("a"), isText(1));
//// arrow type guard
//= [true]
const isN = (x: unknown): x is number => typeof x === "number"; show(isN(1));
//// as
//= ["x",1,[1,2],{"a":1}]
const v = "x" as string; const w = (1 as any) as number; show(v, w, [1, 2] as const, { a: 1 } as { a: number });
//// as before a parenthesis on the next line
//= ["called",1]
let s = 1 as number
(function () { show("called", s) })()
//// as before a bracket on the next line
//= [2][3][[1]]
let t = [1] as number[]
[2, 3].forEach(n => show(n))
show(t)
//// as before a template on the next line
//= ["function"]
let u = show as any
`text`
show(typeof u)
//// as in a field before a computed name
//= [{"x":1,"name":2}]
const k = "name";
class A {
  x = 1 as number
  [k] = 2
}
show(new A());
//// satisfies
//= [{"a":1,"b":[2]}]
const o = { a: 1, b: [2] } satisfies Record<string, unknown>; show(o);
//// satisfies as the last word before a bracket
//= [1]
const m = { a: 1 } satisfies object
[1].map(x => show(x))
//// angle assertion
//= ["5",1,"5"]
const v = <number>(<unknown>"5"); show(v, (<any>{ a: 1 }).a, <string>v);
//// angle assertion of an object in an arrow
//= [2]
const f = (x: number) => <{ a: number }>{ a: x }; show(f(2).a);
//// angle assertion of functions and objects
//= [3]
const q = [<any>function () {}, <any>class {}, <any>{}]; show(q.length);
//// angle assertion after return over lines
//= [{"a":1},3]
function f() {
  return <{
    a: number
  }>
    { a: 1 };
}
function g(x: any) {
  return <
    number>
    x.b;
}
show(f(), g({ b: 3 }));
//// angle assertion after throw over lines
//= ["thrown"]
try { throw <
  Error>
  new Error("thrown"); } catch (e) { show((<Error>e).message); }
//// non-null
//= [7,1][4]
const a: { b?: { c: number[] } } = { b: { c: [7] } }; show(a.b!.c![0]!, a!.b!.c.length);
let n: number | undefined = 1; n!++; n! += 2; show(n!);
//// non-null and optional chains
//= [4,4,null,4]
const a: any = { b: { c() { return 4 } } }; show(a?.b!.c(), (a?.b)!.c(), a.d?.e!.f, a?.b!?.c!());
//// non-null before equality
//= [true,true,false,false]
const a: number | null = 1; show(a! == 1, a! === 1, a! != 1, !a!);
//// definite variable
//= [4]
let d!: number; d = 4; show(d);
//// type arguments of calls
//= [[1],0,[1],["3","1"]]
const m = new Map<string, Array<number>>(); m.set("a", [1]); const s = new Set<number>;
show(m.get("a"), s.size, Array.from<number>([1]), [3, 1].map<string>(String));
//// type arguments of tagged templates
//= ["a|b|1,2"]
function tag<T>(s: TemplateStringsArray, ...v: T[]) { return s.raw.join("|") + v.join(); } show(tag<number>`a${1}b${2}`);
//// type arguments with optional calls
//= [2]
const f: any = (x: number) => x; show(f?.<number>(2));
//// instantiation expression
//= [1]
const makeMap = Map<string, number>; show(new makeMap([["a", 1]]).get("a"));
//// interface
//= [1]
interface I { a: number; b(): void; [k: string]: any; new (x: number): I; (y: string): I }
interface J<T> extends I, Iterable<T> { readonly c?: T }
const i = { a: 1 } as I; show(i.a);
//// interface between an expression and a parenthesis
//= ["called once"]
let a = show
interface X { y: 1 }
(a)("called once")
//// type alias between an expression and a bracket
//= [0][1]
let a = [5, 6]
type T = number
[0, 1].forEach(x => show(x))
//// type alias before a slash
//= ["regex"]
let a = 8
type T = number
/x/.test("x") && show("regex")
//// type alias before a sign
//= [8]
let a = 8
type T = number
-a
+a
show(a)
//// two types before a template
//= 
let tag = show
type T = number
interface Q {}
`text`
//// type aliases
//= [1]
type A = string; type B<T = A> = { [K in keyof T]?: T[K] extends infer U ? U : never };
type C = `a${string}b`; type D = typeof show; type E = new () => A; type F = abstract new () => A;
type G = readonly string[]; type H = unique symbol; type L = -1 | "x" | null; type M = A extends string ? 1 : 2;
show(1);
//// words as names
//= [45]
const type = 1, as = 2, declare = 3, namespace = 4, module = 5, abstract = 6, is = 7, of = 8, readonly = 9;
type
as
show(type + as + declare + namespace + module + abstract + is + of + readonly);
//// type as an expression on its line
//= [5,2]
let type = 5, x = 1
type
x = 2
show(type, x)
//// declarations
//= ["undefined"]
declare const D: number; declare let e: string, f: number; declare function g(x: number): void;
declare class K { m(): void } declare namespace N { const x: number } declare enum Z { A } declare module "m" { export const y: 1 }
declare global { interface Window { q: 1 } }
show(typeof (globalThis as any).K);
//// declare before a parenthesis
//= ["x"]
const v = show
declare const w: number
(v)("x")
//// overloads
//= ["x",1]
function f(a: string): string;
function f(a: number): number;
function f(a: any): any { return a; }
show(f("x"), f(1));
//// overloads without semicolons
//= [[1]]
function f(a: string): string
function f(a: number): number
function f(a: any) { return [a] }
show(f(1))
//// class fields
//= [{"a":1,"e":3,"f":4},2,"g",5,["a","b","c","e","f"]]
class A { a: number = 1; b?: string; c!: number; static d: number = 2; readonly e = 3; private f = 4; static readonly g: string = "g"; #h: number = 5; get h(): number { return this.#h } }
show(new A(), A.d, A.g, new A().h, Object.keys(new A()));
//// class modifiers
//= [{"a":1,"c":3},4,2,5,[1]]
class A {
  public a = 1
  private static b = 2
  protected readonly c: number = 3
  static readonly d = 4
  private async m(): Promise<number> { return 1 }
  protected static *g(): Generator<number> { yield 1 }
  public get p(): number { return 5 }
  public set p(v: number) {}
  static getB() { return this.b }
}
show(new A(), A.d, A.getB(), new A().p, [...(A as any).g()]);
//// class modifiers and computed names without semicolons
//= [1,2,3,[4],[6],5]
const k = "k";
class A {
  a = 1
  private ["b"] = 2
  public [k] = 3
  protected *g() { yield 4 }
  readonly [Symbol.iterator] = function* () { yield 6 }
  static readonly ["s"] = 5
}
show(new A().a, (new A() as any).b, (new A() as any).k, [...(new A() as any).g()], [...new A()], A.s);
//// class members that vanish before a computed name
//= [{"a":1,"c":2,"d":3,"g":5,"h":6,"e":0},[4]]
abstract class A {
  a = 1
  declare b: string
  ["c"] = 2
  d = 3
  abstract e: number
  *f() { yield 4 }
  g = 5;
  [k: string]: any
  ["h"] = 6
}
class B extends A { e = 0 }
show(new B(), [...new B().f()]);
//// fields named like modifiers
//= [{"readonly":8,"declare":2,"abstract":3,"private":4,"public":5,"override":6,"get":9,"set":10,"async":11,"type":12,"is":13},7]
class A { readonly = 1; declare = 2; abstract = 3; private = 4; public = 5; override = 6; static static = 7; readonly readonly = 8; get = 9; set = 10; async = 11; type = 12; is = 13 }
show(new A(), A.static);
//// fields named get and set with a type and no semicolon
//= [["get","set","static","async"],1]
class A {
  get: string
  set: string
  static: number
  async: number
  m() { return 1 }
}
show(Object.keys(new A()), new A().m());
//// methods named like modifiers
//= [1,2,3,4,5,6,7]
class A { declare() { return 1 } abstract() { return 2 } private() { return 3 } readonly?(): void; get() { return 4 } set() { return 5 } static() { return 6 } async() { return 7 } }
const a = new A(); show(a.declare(), a.abstract(), a.private(), a.get(), a.set(), a.static(), a.async());
//// optional methods
//= [2,3]
class A { m?(): void { } n?<T>(x: T): T { return x } ["o"]?() { return 3 } }
const a = new A(); show(a.n!(2), a["o"]!());
//// abstract classes
//= [6,"p"]
abstract class A { abstract m(): number; abstract get p(): string; abstract set p(v: string); abstract x: number; protected abstract y?: string; n() { return this.m() } }
class B extends A { m() { return 6 } get p() { return "p" } x = 1 }
show(new B().n(), new B().p);
//// class expressions
//= [3,4]
const A = class<T> { constructor(private v: T) {} get() { return this.v } }; const B = class extends (A as any)<number> {}; show(new A(3).get(), new (B as any)(4).get());
//// abstract class expression
//= [1]
const mixin = <T extends new (...a: any[]) => {}>(Base: T) => { abstract class M extends Base { z = 1 } return M }; show(new (mixin(class {}) as any)().z);
//// implements
//= [{"x":1,"y":"y"},{"x":1,"y":"y"},3,{"x":2}]
interface I { x: number } interface J<T> { y: T }
class A implements I, J<string> { x = 1; y = "y" }
class B<T> extends A implements J<string> { }
class C extends Array<number> implements
  I { x = 3 }
class D implements I { x = 2 }
show(new A(), new B(), new C().x, new D());
//// extends with type arguments
//= [0]
class A<T> { constructor(public v: T) {} } class B extends A<Map<string, number[]>> { } show(new B(new Map()).v.size);
//// constructor overloads
//= [5,6,3]
class A { x: number; constructor(a: string); constructor(a: number); constructor(a: any) { this.x = Number(a) } m(): void; m(a?: number): any { return a } }
show(new A("5").x, new A(6).x, new A(1).m(3));
//// override
//= [2,"B"]
class A { m() { return 1 } } class B extends A { override m() { return 2 } static override toString() { return "B" } override get [Symbol.toStringTag]() { return "t" } }
show(new B().m(), String(B));
//// accessors with types
//= [4,"s"]
class A { #v = 1; get v(): number { return this.#v } set v(x: number) { this.#v = x } static get s(): string { return "s" } } const a = new A(); a.v = 4; show(a.v, A.s);
//// static blocks
//= [5]
class A { static x: number; static { const y: number = 5; this.x = y as number } } show(A.x);
//// private methods
//= [3,false]
class A { #p(): number { return 1 } static #q<T>(x: T): T { return x } async #r(): Promise<void> {} m(): number { return this.#p() + A.#q<number>(2) } has(o: object): boolean { return #p in o } } show(new A().m(), new A().has({}));
//// parameter properties
//= [{"a":1,"c":3,"b":6},12,"{\"a\":1,\"c\":2,\"d\":\"z\",\"b\":6}"]
class P { b = 2; constructor(private a: number, readonly c = 3, public d?: string, e = 4) { this.b += e } sum() { return this.a + this.b + this.c } }
show(new P(1), new P(1, 5).sum(), JSON.stringify(new P(1, 2, "z")));
//// parameter properties after super
//= ["tried"][{"x":2,"y":2,"z":2},{"x":8,"y":4},{"x":1,"y":1}]
class A { x: number; constructor(x: number) { this.x = x } }
class B extends A { z = this.x; constructor(public y: number, x: number) { super(x); this.y++ } }
class C extends A { constructor(private readonly y: number) { const t = y * 2; super(t) } }
class D extends A { constructor(protected y = 1) { try { super(1) } finally { show("tried") } } }
show(new B(1, 2), new C(4), new D());
//// parameter properties and directives
//= [2]
class A { constructor(public a: number) { "use strict"
  this.a++ } }
show(new A(1).a);
//// parameter properties over lines
//= ["{\"a\":\"x\",\"b\":{\"c\":1}}"]
class A {
  constructor(
    private readonly a: string,
    public b: { c: number } = { c: 1 },
    protected override readonly d?: number,
  ) {}
}
show(JSON.stringify(new A("x")));
//// parameter properties with parameters that see them
//= [{"a":1,"b":2}]
class A { constructor(public a: number, public b = a + 1) {} } show(new A(1));
//// parameter property of an expression class
//= [{"q":3}]
show(new (class { constructor(public readonly q: number) {} })(3));
//// enum
//= [0,1,10,11,"A","D","{\"0\":\"A\",\"1\":\"B\",\"10\":\"C\",\"11\":\"D\",\"A\":0,\"B\":1,\"C\":10,\"D\":11}"]
enum E { A, B, C = 10, D } show(E.A, E.B, E.C, E.D, E[0], E[11], JSON.stringify(E));
//// enum with texts
//= [{"1":"G","A":"a","B":"b","C":"cd","D":"a","F":"b","G":1},["1","A","B","C","D","F","G"]]
enum E { A = "a", B = `b`, C = "c" + "d", D = A, F = E.B, G = 1 } show(E, Object.keys(E));
//// enum with expressions
//= [{"0":"Next","1":"Read","2":"Write","3":"Len","None":0,"Read":1,"Write":2,"All":3,"Not":-4,"-4":"Not","Len":3,"Neg":-1,"-1":"Neg","Next":0},"Len"]
enum F { None = 0, Read = 1 << 0, Write = 1 << 1, All = Read | Write, Not = ~All, Len = "abc".length, Neg = -1, Next } show(F, F[3]);
//// enum with names in quotes
//= [{"0":"a b","5":"c-d","6":"e","7":"f","8":"it\"s","a b":0,"c-d":5,"e":6,"f":7,"it\"s":8},0,"c-d"]
enum E { "a b", "c-d" = 5, ["e"] = 6, [`f`], 'it"s' } show(E, E["a b"], E[5]);
//// enum over lines with comments
//= [0,2,3,3]
enum E {
  A, // first
  /* second */ B = 2,
  C
  , D = // three
    3,
}
show(E.A, E.B, E.C, E.D);
//// const enum
//= [1,2][0]
const enum E { A = 1, B = A * 2 } show(E.A, E.B);
const
enum F { X }
show(F.X);
//// empty enum
//= [[]]
enum E {} show(Object.keys(E));
//// enum of one source twice
//= ["{\"0\":\"D\",\"5\":\"B\",\"6\":\"C\",\"A\":0,\"B\":5,\"C\":6,\"D\":0}"]
enum E { A } enum E { B = 5, C = B + 1 } enum E { D = A } show(JSON.stringify(E));
//// enum in a block and in a function
//= [4][5,"undefined"][3]
{ enum E { A = 4 } show(E.A) } function f() { enum E { A = 5 } return E.A } show(f(), typeof E); declare var E: any;
switch (1) { case 1: enum S { Q = 3 } show(S.Q) }
//// enum merged in a block
//= ["{\"0\":\"A\",\"1\":\"B\",\"A\":0,\"B\":1}"]
{ enum E { A } enum E { B = 1 } show(JSON.stringify(E)) }
//// enum that refers to another
//= ["{\"2\":\"Y\",\"Y\":2,\"Z\":\"t\"}"]
enum A { X = 1, T = "t" } enum B { Y = A.X + 1, Z = A.T } show(JSON.stringify(B));
//// enum as a type
//= ["Red","Green"]
enum Color { Red, Green } function name(c: Color): string { return Color[c] } const c: Color.Red = Color.Red; show(name(c), name(Color.Green));
//// enum with computed members and functions
//= ["{\"2\":\"C\",\"3\":\"B\",\"8\":\"A\",\"A\":8,\"B\":3,\"C\":2}"]
const g = (n: number) => n * 2; enum E { A = g(4), B = Math.max(1, 3), C = [1, 2].map((x) => x).length } show(JSON.stringify(E));
//// enum without semicolons around
//= [1,0]
const a = 1
enum E { A }
[a].forEach(x => show(x, E.A))
//// enum with properties of the same name
//= [1,5]
enum E { A = 3, C = ({ A: 5 } as any).A, D = [A].length } show(E.D, E.C);
//// enum whose member is named like it
//= [2,2]
enum E { E = 2, F = E } show(E.E, E.F);
//// namespace
//= [1,3,1,"y",null,["x","f","C","y"]]
namespace N { export const x = 1; const hidden = 2; export function f() { return x + hidden } export class C { v = x } export let y: string = "y"; }
show(N.x, N.f(), new N.C().v, N.y, (N as any).hidden, Object.keys(N));
//// namespace with a variable that changes
//= [2][11]
namespace N { export let count = 0; export function add() { count++ } export var z: number; } N.add(); N.add(); show(N.count); N.count = 10; N.add(); show(N.count);
//// namespace with dots
//= [1,1]
namespace A.B.C { export const x = 1; export function g() { return x } } show(A.B.C.x, A.B.C.g());
//// nested namespaces
//= [5,1,["B","y"]]
namespace A { export namespace B { export const x = 2; export enum E { P, Q } } namespace D { export const z = 3 } export const y = B.x + D.z } show(A.y, A.B.E.Q, Object.keys(A));
//// namespace in two parts
//= [1,3]
namespace N { export const a = 1; export function f() { return a } } namespace N { export const b = a + f() + 1 } show(N.a, N.b);
//// namespace that extends a function
//= [9]
function f() { return f.x } namespace f { export const x = 9 } show(f());
//// namespace that extends a class
//= [1,2]
class C { static s = 1 } namespace C { export const t = 2; export type U = string } show(C.s, C.t);
//// namespace that extends an enum
//= [1,0]
enum E { A, B } namespace E { export function other(e: E) { return e === E.A ? E.B : E.A } } show(E.other(E.A), E.other(E.B));
//// namespace only of types
//= ["undefined"]
namespace T { export interface A { x: 1 } export type B = A; namespace U { type V = 1 } } show(typeof (globalThis as any).T);
//// namespace with destructuring and types
//= [1,2,[3,4],5]
namespace N { export const { a, b: [c, ...d], e = 5 }: any = { a: 1, b: [2, 3, 4] }; export type X = number; export interface Y {} export declare const q: number } show(N.a, N.c, N.d, N.e);
//// namespace with an alias
//= [3,true]
namespace A { export namespace B { export const x = 3; export class K {} } } import q = A.B.x; import B2 = A.B; show(q, new B2.K() instanceof A.B.K);
//// namespace with an exported alias
//= [4,4]
namespace A { export const x = 4 } namespace Z { export import y = A.x; import w = A; export const v = w.x } show(Z.y, Z.v);
//// namespace with exported async and generator functions
//= ["function",[1],"function",2]
namespace N { export async function f() {} export function* g() { yield 1 } export abstract class Q {} export function over(): void; export function over(x?: number) { return 2 } } show(typeof N.f, [...N.g()], typeof N.Q, N.over());
//// namespace without semicolons
//= [1,[1],2]
namespace N {
  export const a = 1
  export const b = [a]
  export let c = 2
}
[N].forEach(n => show(n.a, n.b, n.c))
//// module keyword
//= [1]
module M { export const x = 1 } show(M.x);
//// catch
//= ["x"][1]
try { throw new Error("x") } catch (e: unknown) { show((e as Error).message) } try { throw 1 } catch (e: any) { show(e) }
//// loops
//= [1][2][0][1]["a"]
for (const x of [1, 2] as number[]) show(x); for (let i: number = 0, n: number = 2; i < n; i++) show(i); for (const k in <any>{ a: 1 }) show(k);
//// for of with satisfies and non-null
//= [4][1]
const m: number[] | undefined = [4]; for (const x of m!) show(x); for (const x of [1] satisfies number[]) show(x);
//// assignment to asserted targets
//= [{"x":1,"y":2,"z":3,"q":4,"w":5}]
let a: any = {}; (a as any).x = 1; (<any>a).y = 2; a!.z = 3; [(a as any).q] = [4]; ({ w: (a as any).w } = { w: 5 }); show(a);
//// destructuring with types
//= [1,"x",1,[3],1]
const { a, b: { c } }: { a: number; b: { c: string } } = { a: 1, b: { c: "x" } }; const [d, , ...e]: number[] = [1, 2, 3]; let { f }: any = { f: 1 }; show(a, c, d, e, f);
//// default parameters with assertions
//= [[{"x":1},2,3]]
function f(a = <any>{ x: 1 }, b: number = 2 as number, { c = 3 }: { c?: number } = {}): any { return [a, b, c] } show(f());
//// object methods
//= [1,1,[2],4]
const o = { m<T>(x: T): T { return x }, get p(): number { return 1 }, set p(v: number) {}, async n(): Promise<void> {}, *g(): Generator<number> { yield 2 }, ["c" as string](a?: number): void {}, f: (a: number): number => a } ; show(o.m<number>(1), o.p, [...o.g()], o.f(4));
//// conditional with arrows
//= [1,2]
const f = (c: boolean) => c ? (x: number): number => x : (x: number): number => x * 2; show(f(true)(1), f(false)(1));
//// comparison that is not generic
//= [true][true,true]
let a = 1, b = 2, c = 3; show(a < b); show(c > (b), (a < b) as boolean);
//// shifts
//= [8,4,[1],8]
const f = <T,>(x: T) => x; let a = 16; show(a >> 1, a >>> 2, f<Array<Array<number>>>([[1]])[0], a >>= 1);
//// regular expressions
//= ["/a: number/g","x",true]
const r: RegExp = /a: number/g as RegExp; const s = "x".replace(/<T>/, "") as string; show(String(r), s, (/[/]:/ as RegExp).test("/:"));
//// templates
//= ["1 1 inner 1: number: string"]
const a: number = 1; show(`${a as number} ${(<any>a)!} ${`inner ${[a].map((x: number): string => `${x}: number`)}`}: string`);
//// texts and comments with types
//= ["let x: number = 1 as any","<T>"]
const s = "let x: number = 1 as any"; // let y: string
/* interface X {} */ show(s /* : string */, '<T>' as /* type */ string);
//// comments in types
//= [1]
function f(a: /* one */ number, b /* two */ ? /* three */ : // four
  string) /* five */ : /* six */ number /* seven */ { return a } show(f(1));
//// characters outside of the basic plane
//= ["😀",{"é😀":1,"ñ":2},"😀","😀: number"]["𝒵"]
const 𝒳: string = "😀" as string; const o = { "é😀": 1 as number, ñ: <any>2 }; enum E { 𝒜 = "😀", B = 1 } show(𝒳, o, E.𝒜, "😀: number"); class P { constructor(public 𝒴: string) {} } show(new P("𝒵").𝒴);
//// escapes in names
//= [1,2]
let \u0061b: number = 1; function f(\u{63}?: number) { return c } show(ab, f(2));
//// unicode spaces
//= [1,"x"]
const a : number = 1;　let b　:　string　=　"x"; show(a, b);
//// getter and setter in interfaces
//= [4]
interface I { get x(): number; set x(v: number); readonly [n: number]: string; method?(): void } const i: I = { x: 4 } as any; show(i.x);
//// recursive types
//= [3]
type Json = string | number | Json[] | { [k: string]: Json }; const walk = (j: Json): number => Array.isArray(j) ? j.reduce((n: number, x: Json): number => n + walk(x), 0) : 1; show(walk([1, [2, "3"]]));
//// mapped and conditional types
//= [1]
type P<T> = { -readonly [K in keyof T]-?: T[K] }; type U = P<{ a?: 1 }>["a"]; type X<T> = T extends (infer A extends string)[] ? A : never; const v: U = 1; show(v);
//// tuple types
//= [[1,"b",true]]
const t: [a: number, b?: string, ...rest: boolean[]] = [1, "b", true]; type Q = [...typeof t, x: 1]; show(t);
//// function type with this and constructors
//= ["function","function","3",1]
const f: (this: Date, ...a: any[]) => void = function () {}; const g: new (...args: any[]) => object = class {}; const h: { (x: number): string; p: 1 } = Object.assign((x: number) => `${x}`, { p: 1 as const }); show(typeof f, typeof g, h(3), h.p);
//// async generators
//= ["function","function"]
async function* g(): AsyncGenerator<number, void, unknown> { yield 1 as number; } async function f<T>(x: Promise<T>): Promise<T> { return await x as T; } show(typeof g, typeof f);
//// immediately called functions
//= [1]["a"][2][3]
(function (this: any, x: number): void { show(x) })(1); ((x: string): void => show(x))("a"); !function (): void { show(2) }(); void (async (): Promise<void> => { show(3) })();
//// labels and types
//= ["done"]
outer: for (const x of [1, 2] as const) { for (;;) { if (x as number === 1) continue outer; break outer } } show("done");
//// ternary with types
//= ["a"][1]
const x = (1 as number) > 0 ? <string>"a" : "b" as string; show(x); const y: number = true ? 1 as number : 2; show(y);
//// nullish and logical assertions
//= [5,6,null,true]
const a: any = null; show((a as any) ?? 5, a! || 6, (a as number) && 7, a?.b as any === undefined);
//// in and instanceof after assertions
//= [true,true,true]
const o = { a: 1 }; show("a" in (o as any), (o as any) instanceof Object, ("a" as string) in o);
//// new with type arguments and members
//= [1,true,true]
class A<T> { static B = class<U> { v = 1 }; w!: T } show(new A.B<number>().v, new A<string>().w === undefined, new (A as any)() instanceof A);
//// yield and await with assertions
//= [5,6]
function* g(): any { const x = <number>(yield 1); const y = (yield x) as number; return y! } const it = g(); it.next(); show(it.next(5).value, it.next(6).value);
//// delete, typeof and void with assertions
//= [{"b":2},"object",null]
const o: any = { a: 1, b: 2 }; delete (o as any).a; show(o, typeof <any>o, void (0 as any));
//// spread with assertions
//= [[1,2,3],{"x":1,"y":2},3]
const a = [...[1, 2] as number[], ...(<number[]>[3])], o = { ...{ x: 1 } as any, ...<any>{ y: 2 } }; show(a, o, Math.max(...a as number[]));
//// symbol and bigint
//= ["10",1]
const s: unique symbol = Symbol("q") as any; const b: bigint = 10n as bigint; const o = { [s as symbol]: 1 }; show(String(b), o[s]);
//// getters in derived classes
//= ["t:a,b",0]
class A<T = {}> { protected readonly list: T[] = []; public add(...x: T[]): this { this.list.push(...x); return this } get size(): number { return this.list.length } }
class B extends A<string> { constructor(private tag: string) { super() } public toString(): string { return `${this.tag}:${this.list}` } } show(String(new B("t").add("a", "b")), new B("").size);
//// singleton
//= [7,true]
class S { private static instance?: S; private constructor(private n: number) {} static get(): S { return this.instance ??= new S(7) } get v() { return this.n } } show(S.get().v, S.get() === S.get());
//// event emitter
//= [1]
type Handler<T> = (e: T) => void;
class Emitter<M extends Record<string, any>> { private handlers: { [K in keyof M]?: Handler<M[K]>[] } = {}; on<K extends keyof M>(k: K, h: Handler<M[K]>): () => void { (this.handlers[k] ??= []).push(h); return () => { this.handlers[k] = this.handlers[k]!.filter(x => x !== h) } } emit<K extends keyof M>(k: K, e: M[K]): void { this.handlers[k]?.forEach(h => h(e)) } }
const em = new Emitter<{ a: number; b: string }>(); const off = em.on("a", (n) => show(n)); em.emit("a", 1); off(); em.emit("a", 2);
//// result type
//= [4,{"ok":false,"error":"bad q"}]
type Result<T, E = Error> = { ok: true; value: T } | { ok: false; error: E };
const ok = <T,>(value: T): Result<T, never> => ({ ok: true, value }); const err = <E,>(error: E): Result<never, E> => ({ ok: false, error });
function parse(s: string): Result<number, string> { const n = Number(s); return Number.isNaN(n) ? err(`bad ${s}`) : ok(n) } const r = parse("4"); show(r.ok ? r.value : r.error, parse("q"));
//// binary tree
//= [[1,2,3]]
interface Tree<T> { v: T; l?: Tree<T>; r?: Tree<T> } function insert<T>(t: Tree<T> | undefined, v: T): Tree<T> { if (!t) return { v }; if (v < t.v) return { ...t, l: insert(t.l, v) }; return { ...t, r: insert(t.r, v) } }
function* walk<T>(t?: Tree<T>): Generator<T> { if (!t) return; yield* walk(t.l); yield t.v; yield* walk(t.r) } show([...walk([3, 1, 2].reduce<Tree<number> | undefined>((t, v) => insert(t, v), undefined))]);
//// state machine with enums
//= ["busy",["idle","busy"]]
enum State { Idle = "idle", Busy = "busy" } const next: Record<State, State> = { [State.Idle]: State.Busy, [State.Busy]: State.Idle }; let s: State = State.Idle; s = next[s]; show(s, Object.values(State));
//// flags
//= [true,false,"RW"]
enum Perm { None = 0, R = 1, W = R << 1, X = W << 1, RW = R | W } const has = (p: Perm, q: Perm): boolean => (p & q) === q; show(has(Perm.RW, Perm.W), has(Perm.R, Perm.X), Perm[3]);
//// group by
//= [{"a":[1,3],"b":[2]}]
type Row = { k: string; n: number }; const rows: Row[] = [{ k: "a", n: 1 }, { k: "b", n: 2 }, { k: "a", n: 3 }];
const by = rows.reduce((acc: Record<string, number[]>, { k, n }: Row) => { (acc[k] ||= []).push(n); return acc }, {} as Record<string, number[]>); show(by);
//// pipe with rest types
//= ["6"]
const pipe = <A extends any[], B>(f: (...a: A) => B, ...fs: Array<(b: any) => any>) => (...a: A): any => fs.reduce((x: any, g) => g(x), f(...a) as any); show(pipe((a: number, b: number) => a + b, (x: number) => x * 2, String)(1, 2));
//// debounce shape
//= [5]
function debounce<F extends (...args: any[]) => any>(fn: F, ms = 0): (...args: Parameters<F>) => void { let t: ReturnType<typeof setTimeout> | undefined; return (...args) => { if (t) clearTimeout(t); fn(...args) } } debounce((x: number) => show(x))(5);
//// object keys as types
//= ["a",1]["b",2]["a",1]["b",2]
const conf = { a: 1, b: 2 } as const; type Key = keyof typeof conf; for (const k of Object.keys(conf) as Key[]) show(k, conf[k]); for (const [k, v] of Object.entries(conf) as [Key, number][]) show(k, v);
//// exhaustive switch
//= [9]
type Shape = { kind: "c"; r: number } | { kind: "s"; a: number }; function area(s: Shape): number { switch (s.kind) { case "c": return s.r * s.r; case "s": { const { a }: { a: number } = s; return a * a } default: { const _: never = s; return _ } } } show(area({ kind: "s", a: 3 }));
//// class with index signature and static members
//= [1,1]
class Bag { [key: string]: any; static count: number = 0; static make(): Bag { Bag.count++; return new Bag() } } const b = Bag.make(); b.x = 1; show(b.x, Bag.count);
//// decorators in a text
//= ["@decorator class X {}"]
const s: string = "@decorator class X {}"; show(s);
//// a type on the last line without a newline
//= [1]
show(1); type Last = number
//// only types
//= 
interface A {} type B = A; declare const c: B;
//// only a comment in a type block
//= ["x"]
type X = {
  // nothing
}; show("x");
//// carriage returns
//= [1]
show(1 as number);
//// arrow returning a conditional over lines
//= ["1"]
const f = (x: number): x extends number
  ? string
  : never => String(x) as never;
show(f(1));
//// assertion chains over lines
//= [2]
const v = ({ a: { b: 2 } } as unknown as { a: { b: number } }
).a
  .b as
    number;
show(v);
//// callback types in arguments
//= [1,0][2,1]
[1, 2].forEach((x: number, i?: number): void => { show(x, i as number) }); setTimeout; new Promise<void>((resolve: () => void) => resolve());
//// function with type parameters over lines
//= [[1,"b"]]
function f<
  A,
  B
>(
  a: A,
  b: B
): [A, B]
{
  return [a, b]
}
show(f(1, "b"))
//// method with type parameters over lines
//= [2,4]
class A {
  m<
    T
  >(x: T): T
  {
    return x
  }
  p
  : number
  = 4
}
show(new A().m(2), new A().p)
