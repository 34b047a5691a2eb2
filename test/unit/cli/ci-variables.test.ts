import { describe, expect, test } from "vitest";
import { ciJobUrl, ciSourceUrl } from "../../../src/cli/runtime/this-process.ts";

const github = {
  GITHUB_SERVER_URL: "https://github.example",
  GITHUB_REPOSITORY: "shop/drafts",
  GITHUB_RUN_ID: "17",
};

describe("ciJobUrl", () => {
  test.each([
    ["no CI system", {}, undefined],
    ["GitHub", github, "https://github.example/shop/drafts/actions/runs/17"],
    ["GitHub without a run", { ...github, GITHUB_RUN_ID: "" }, undefined],
    ["GitLab", { CI_JOB_URL: "https://ci.example/a/-/jobs/1" }, "https://ci.example/a/-/jobs/1"],
    ["Jenkins", { BUILD_URL: "http://ci.example/job/a/1/" }, "http://ci.example/job/a/1/"],
    ["CircleCI", { CIRCLE_BUILD_URL: "https://c.example/1" }, "https://c.example/1"],
    [
      "Buildkite",
      { BUILDKITE_BUILD_URL: "https://b.example/o/p/builds/1" },
      "https://b.example/o/p/builds/1",
    ],
    [
      "Azure Pipelines",
      {
        SYSTEM_COLLECTIONURI: "https://dev.example/shop/",
        SYSTEM_TEAMPROJECT: "Our drafts",
        BUILD_BUILDID: "17",
      },
      "https://dev.example/shop/Our%20drafts/_build/results?buildId=17",
    ],
    ["a URL with a password", { CI_JOB_URL: "https://user:canary@ci.example/1" }, "https://ci.example/1"],
    ["text that is not a URL", { CI_JOB_URL: "yes" }, undefined],
    ["a script URL", { CI_JOB_URL: "javascript:alert(1)" }, undefined],
    [
      "an empty variable before one with a URL",
      { CI_JOB_URL: "", BUILD_URL: "https://ci.example/2" },
      "https://ci.example/2",
    ],
  ])("returns the job of %s", (_name, env, url) => {
    expect(ciJobUrl(env)).toBe(url);
  });
});

describe("ciSourceUrl", () => {
  const checkout = { ...github, GITHUB_SHA: "4f1c", GITHUB_WORKSPACE: "/checkout" };
  const gitlab = {
    CI_PROJECT_URL: "https://git.example/shop/drafts",
    CI_COMMIT_SHA: "4f1c",
    CI_PROJECT_DIR: "/builds/shop",
  };
  test.each([
    ["no CI system", {}, "/checkout", undefined],
    ["GitHub", checkout, "/checkout", "https://github.example/shop/drafts/blob/4f1c"],
    [
      "a folder of the checkout",
      checkout,
      "/checkout/my shops/a",
      "https://github.example/shop/drafts/blob/4f1c/my%20shops/a",
    ],
    ["a folder outside the checkout", checkout, "/tmp", undefined],
    ["GitLab", gitlab, "/builds/shop/a", "https://git.example/shop/drafts/-/blob/4f1c/a"],
  ])("returns the source of %s", (_name, env, folder, url) => {
    expect(ciSourceUrl(env, folder)).toBe(url);
  });
});
