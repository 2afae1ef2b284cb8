// Compiles each .ksy file to languages, those named or all that the compiler knows, into OUT_FOLDER/LANGUAGE.
//   node targets.mjs KSY_FOLDER OUT_FOLDER [LANGUAGE...]
// Prints one line of JSON: the languages, and the message of each compilation that failed.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import compiler from "kaitai-struct-compiler";
import yaml from "js-yaml";

const [source, target, ...chosen] = process.argv.slice(2);
if (!source || !target) throw new Error("usage: node targets.mjs KSY_FOLDER OUT_FOLDER [LANGUAGE...]");

const load = (name) => yaml.load(readFileSync(join(source, `${basename(name)}.ksy`), "utf8"));
const importer = { importYaml: (name) => Promise.resolve(load(name)) };
const languages = chosen.length ? chosen : compiler.languages;
const failed = [];
for (const language of languages) {
  for (const file of readdirSync(source).filter((name) => name.endsWith(".ksy")).sort()) {
    try {
      const made = await compiler.compile(language, load(file.replace(/\.ksy$/, "")), importer, false);
      for (const [name, text] of Object.entries(made)) {
        const path = join(target, language, name);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
      }
    } catch (error) {
      failed.push(`${file}: ${language}: ${error.message ?? error}`);
    }
  }
}
console.log(JSON.stringify({ languages, failed }));
