"use strict";
// Light or dark: as the system's setting, until the button changes it.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try { chosen = localStorage.getItem("lanner-theme"); } catch (error) { chosen = null; }
  const show = () => root.setAttribute("data-theme", chosen || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", show);
  document.getElementById("theme").addEventListener("click", () => {
    chosen = root.getAttribute("data-theme") === "dark" ? "light" : "dark";
    try { localStorage.setItem("lanner-theme", chosen); } catch (error) { /* A page that may keep nothing still turns. */ }
    show();
  });
  show();
})();
