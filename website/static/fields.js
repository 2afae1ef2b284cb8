// The search of the page of file structures: by offset (decimal or 0x) or by name, ours or Java's.
const { fields, index } = JSON.parse(document.getElementById("field-table").textContent);
const found = document.getElementById("fields-found");

/** Where an offset of a whole index file of default geometry is: structure, its number, and the offset in it. */
function inIndexFile(offset) {
  const slots = index.header;
  const entries = slots + index.slot * index.slots;
  if (offset < slots || offset >= entries + index.entry * index.entries) return [];
  const [structure, start, size] = offset < entries ? ["index slot", slots, index.slot] : ["index entry", entries, index.entry];
  const number = Math.floor((offset - start) / size);
  const place = (offset - start) % size;
  return matching((field) => field.structure === structure && covers(field, place)).map((field) => ({
    ...field,
    note: `byte ${offset} of an index file of default size: ${structure.slice(6)} ${number}`,
  }));
}

function covers(field, offset) {
  return field.offset !== null && field.size !== null && field.offset <= offset && offset < field.offset + field.size;
}

function matching(test) {
  return fields.filter(test);
}

function plain(name) {
  return name.toLowerCase().replaceAll("_", "");
}

function search(text) {
  if (text === "") return [];
  if (/^(0x[0-9a-f]+|[0-9][0-9,]*)$/i.test(text)) {
    const offset = Number(text.replaceAll(",", ""));
    return [...matching((field) => covers(field, offset)), ...inIndexFile(offset)];
  }
  return matching((field) => plain(field.name).includes(plain(text)) || plain(field.java).includes(plain(text)));
}

function show({ anchor, structure, name, java, offset, note }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = `#${anchor}`;
  link.textContent = `${structure}: ${name} (${java})`;
  item.append(link, note ? `, ${note}` : offset === null ? "" : `, from byte ${offset}`);
  return item;
}

document.getElementById("field-search").addEventListener("input", (event) => {
  const text = event.target.value.trim();
  const items = search(text).map(show);
  found.replaceChildren(...items);
  if (text !== "" && items.length === 0) found.textContent = "no field";
});
