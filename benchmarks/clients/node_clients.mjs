// Node clients of LibreTranslate and DeepL, unchanged, against a server; one line of JSON for each check.
//
//     node node_clients.mjs http://127.0.0.1:5000 FOLDER
//
// Runs in the folder whose node_modules it tests.
import fs from "node:fs";
import path from "node:path";

const [url, folder] = process.argv.slice(2);
const text = "the cat sees a bird.";

function require(condition, shown) {
  if (!condition) throw new Error(JSON.stringify(shown)?.slice(0, 300));
}

function versionOf(name) {
  const file = path.join("node_modules", name, "package.json");
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")).version : null;
}

async function check(name, what, run) {
  const version = versionOf(name);
  if (version === null) return;
  let problem = "";
  try {
    await run();
  } catch (error) {
    problem = `${error.name}: ${error.message}`.slice(0, 300);
  }
  console.log(JSON.stringify([`${name} (npm)`, version, what, problem]));
}

await check("translate", "libre", async () => {
  const { default: translate } = await import("translate");
  translate.engine = "libre";
  translate.url = `${url}/translate`;
  require(typeof (await translate(text, { from: "en", to: "fr" })) === "string");
});

await check("translate", "deepl", async () => {
  const { Translate } = await import("translate");
  const translate = Translate({ engine: "deepl", key: "any" });
  const fetchAnywhere = globalThis.fetch; // the client has a fixed address: lead it here
  globalThis.fetch = (target, options) => fetchAnywhere(target.replace("https://api.deepl.com", url), options);
  try {
    require(typeof (await translate(text, { from: "en", to: "fr" })) === "string");
  } finally {
    globalThis.fetch = fetchAnywhere;
  }
});

await check("libretranslate-ts", "translate, detect", async () => {
  const { libreTranslate } = await import("libretranslate-ts");
  libreTranslate.setApiEndpoint(url);
  libreTranslate.setApiKey("");
  const result = await libreTranslate.translate(text, "en", "fr");
  require(typeof result.translatedText === "string" && result.status === 200, result);
  const detected = await libreTranslate.detect(text);
  require(JSON.stringify(detected).includes("en"), detected);
});

async function deeplClient() {
  const deepl = await import("deepl-node");
  return new deepl.DeepLClient("any", { serverUrl: url });
}

await check("deepl-node", "translateText", async () => {
  const client = await deeplClient();
  const results = await client.translateText([text, "the dog sleeps."], null, "fr");
  require(results.every((each) => each.detectedSourceLang === "en" && each.text), results);
  require(results[0].billedCharacters === text.length, results);
  const options = { tagHandling: "xml", ignoreTags: ["x"], splitSentences: "nonewlines" };
  const tagged = await client.translateText('le chat <x id="1"/>.', "fr", "en-US", options);
  require(tagged.text.includes('<x id="1"/>'), tagged);
});

await check("deepl-node", "languages and usage", async () => {
  const client = await deeplClient();
  require((await client.getSourceLanguages()).some((each) => each.code === "en"));
  require((await client.getTargetLanguages()).some((each) => each.code === "en-GB"));
  require((await client.getUsage()).character.limit > 0);
});

await check("deepl-node", "glossary v2 and v3", async () => {
  const deepl = await import("deepl-node");
  const client = await deeplClient();
  const entries = new deepl.GlossaryEntries({ entries: { cat: "matou" } });
  const glossary = await client.createGlossary("v2", "en", "fr", entries);
  const result = await client.translateText(text, "en", "fr", { glossary });
  require(result.text.toLowerCase().includes("matou"), result);
  await client.deleteGlossary(glossary);
  const dictionaries = [{ sourceLangCode: "en", targetLangCode: "fr", entries }];
  const multilingual = await client.createMultilingualGlossary("v3", dictionaries);
  require(multilingual.dictionaries[0].entryCount === 1, multilingual);
  await client.deleteMultilingualGlossary(multilingual);
});

await check("deepl-node", "document", async () => {
  const client = await deeplClient();
  const [input, output] = ["node.txt", "node.fr.txt"].map((name) => path.join(folder, name));
  fs.writeFileSync(input, `${text}\n`);
  await client.translateDocument(input, output, "en", "fr");
  require(fs.readFileSync(output, "utf8").trim());
});
