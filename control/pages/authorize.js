// Approves the login of a client at an `address`; which one, the page's own address says.
const [button, problem, done] = ["authorize", "problem", "done"].map((id) => document.getElementById(id));
const code_challenge = new URLSearchParams(location.search).get("code_challenge") ?? "";
if (code_challenge === "") {
  button.disabled = true;
  problem.textContent = "This address is incomplete: it lacks code_challenge. Start the login again.";
}
button.addEventListener("click", async () => {
  button.disabled = true;
  problem.textContent = "";
  try {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code_challenge }),
    });
    if (!answer.ok) throw new Error((await answer.json()).detail);
    done.textContent = "Authorized. You can close this page and go back to the command line.";
    button.hidden = true;
  } catch (error) {
    button.disabled = false;
    problem.textContent = "Not authorized: " + error.message;
  }
});
