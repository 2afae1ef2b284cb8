// Compiles each .ksy file to a Python reader and writes a type stub beside it; in Python `rocketspec decode` reads damaged logs, and
// nothing needs the lenient schema or the default geometry.
//   node compile.mjs KSY_FOLDER OUT_FOLDER
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import compiler from "kaitai-struct-compiler";
import yaml from "js-yaml";

const [source, target] = process.argv.slice(2);
if (!source || !target) throw new Error("usage: node compile.mjs KSY_FOLDER OUT_FOLDER");

const camel = (id) => id.split("_").map((part) => part[0].toUpperCase() + part.slice(1)).join("");

/**
 * Python type of a member: integers, flags by their name, bytes, or a class of the same file. An instance whose `if`
 * is false is None; a member of `seq` is then absent, which a type cannot say.
 */
function pythonType(id, member) {
  let type = member.type?.replace(/\(.*/, "");
  if (type === undefined && "value" in member) type = /^(is|has)_/.test(id) ? "bool" : "int";
  else if (type === undefined) type = "bytes";
  else if (/^[su][1248](be|le)?$/.test(type) || type === "bool") type = type === "bool" ? "bool" : "int";
  else type = type.includes("::") ? type.split("::").map(camel).join(".") : `${member.owner}.${camel(type)}`;
  if ("repeat" in member) type = `list[${type}]`;
  return "if" in member && ("value" in member || "pos" in member) ? `${type} | None` : type;
}

/** The class of one type, its nested enums and types first, as lines of a stub. */
function stub(name, spec, owner, indent) {
  const pad = " ".repeat(indent);
  const lines = [`${pad}class ${name}:`];
  for (const [id, values] of Object.entries(spec.enums ?? {})) {
    lines.push(`${pad}    class ${camel(id)}(IntEnum):`);
    for (const [value, entry] of Object.entries(values)) lines.push(`${pad}        ${entry.id} = ${value}`);
    lines.push("");
  }
  for (const [id, type] of Object.entries(spec.types ?? {})) lines.push(...stub(camel(id), type, owner, indent + 4), "");
  const params = spec.params ?? [];
  const members = [
    ...params.map((param) => [param.id, param]),
    ...(spec.seq ?? []).map((member) => [member.id, member]),
    ...Object.entries(spec.instances ?? {}),
  ];
  for (const [id, member] of members) {
    const type = member.enum ? `${owner}.${camel(member.enum)} | int` : pythonType(id, { ...member, owner });
    lines.push(`${pad}    ${id}: ${type}`);
  }
  const own = params.map((param) => `${param.id}: ${pythonType(param.id, { ...param, owner })}, `).join("");
  lines.push(`${pad}    def __init__(self, ${own}_io: Any, _parent: Any = None, _root: Any = None) -> None: ...`);
  if (indent === 0) {
    if (params.length === 0) {
      lines.push("    @classmethod", "    def from_bytes(cls, buf: bytes) -> Self: ...");
      lines.push("    @classmethod", "    def from_file(cls, filename: str) -> Self: ...");
    }
    lines.push("    def close(self) -> None: ...");
  }
  return lines;
}

const load = (name) => yaml.load(readFileSync(join(source, `${name}.ksy`), "utf8"));
const importer = { importYaml: (name) => Promise.resolve(load(name)) };

mkdirSync(target, { recursive: true });
for (const file of readdirSync(source).filter((name) => name.endsWith(".ksy") && !/_(lenient|default)\.ksy$/.test(name)).sort()) {
  const spec = load(file.replace(/\.ksy$/, ""));
  const imported = (spec.meta.imports ?? []).map((other) => load(other).meta.id);
  const made = await compiler.compile("python", spec, importer, false);
  for (const [name, text] of Object.entries(made)) {
    const local = imported.reduce(
      (changed, other) => changed.replace(`\nimport ${other}\n`, `\nfrom rocket_spec.kaitai._generated import ${other}\n`), text);
    writeFileSync(join(target, name), local.trimEnd() + "\n");
  }
  const name = camel(spec.meta.id);
  const body = stub(name, spec, name, 0).join("\n");
  const enums = body.includes("IntEnum") ? "from enum import IntEnum\n" : "";
  const imports = imported.map((other) => `\nfrom rocket_spec.kaitai._generated.${other} import ${camel(other)}\n`);
  const head = `${enums}from typing import Any${body.includes("Self") ? ", Self" : ""}\n${imports.join("")}`;
  const note = `# Made from ${file} by spec/kaitai/compile.mjs; do not edit.\n`;
  writeFileSync(join(target, `${spec.meta.id}.pyi`), `${note}${head}\n${body}\n`);
}
