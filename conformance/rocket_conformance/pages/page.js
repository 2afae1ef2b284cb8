"use strict";
(function () {
  var box = document.getElementById("search"), count = document.getElementById("found"), all = document.getElementById("expand");
  var items = Array.prototype.slice.call(document.querySelectorAll("[data-item]"));
  var groups = Array.prototype.slice.call(document.querySelectorAll("[data-group]"));
  var texts = null;
  function search() {
    var wanted = box.value.trim().toLowerCase(), shown = 0;
    if (!texts) { texts = items.map(function (item) { return item.textContent.toLowerCase(); }); }
    groups.forEach(function (group) { group.dataset.hits = "0"; });
    items.forEach(function (item, place) {
      var hit = !wanted || texts[place].includes(wanted);
      item.hidden = !hit;
      if (!hit) { return; }
      shown += 1;
      for (var group = item.closest("[data-group]"); group; group = group.parentElement.closest("[data-group]")) {
        group.dataset.hits = String(Number(group.dataset.hits) + 1);
      }
    });
    groups.forEach(function (group) {
      var head = group.querySelector("[data-head]");
      var own = Boolean(wanted && head && head.textContent.toLowerCase().includes(wanted));
      group.hidden = Boolean(wanted) && !own && group.dataset.hits === "0";
      if (wanted && group.dataset.hits !== "0" && group.tagName === "DETAILS") { group.open = true; }
    });
    count.textContent = wanted ? shown + " of " + items.length : "";
  }
  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) { return; }
    if (target.tagName === "DETAILS") { target.open = true; }
    for (var box = target.closest("details"); box; box = box.parentElement.closest("details")) { box.open = true; }
    target.scrollIntoView();
  }
  function toggle() {
    var open = all.getAttribute("aria-pressed") !== "true";
    document.querySelectorAll("details").forEach(function (item) { item.open = open; });
    all.setAttribute("aria-pressed", String(open));
    all.textContent = open ? "Collapse all" : "Expand all";
  }
  function copy(event) {
    var button = event.target.closest("button.copy");
    if (!button) { return; }
    var code = button.parentElement.querySelector("code"), range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (navigator.clipboard) { navigator.clipboard.writeText(code.textContent); } else { document.execCommand("copy"); }
    button.textContent = "Copied";
  }
  if (box) { box.addEventListener("input", search); }
  if (all) { all.addEventListener("click", toggle); }
  document.addEventListener("click", copy);
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", function () {
    document.querySelectorAll("details.cause").forEach(function (item) { item.open = true; });
  });
  reveal();
})();
