import { describe, expect, test } from "vitest";
import { ciJobUrl, ciSourceUrl } from "../../../src/cli/runtime/this-process.ts";

const github = {
  GITHUB_SERVER_URL: "https://github.example",
  GITHUB_REPOSITORY: "shop/drafts",
  GITHUB_RUN_ID: "17",
};

describe("ciJobUrl", () => {
  test.each([
    { name: "no CI system", env: {}, url: undefined },
    { name: "GitHub", env: github, url: "https://github.example/shop/drafts/actions/runs/17" },
    { name: "GitHub without a run", env: { ...github, GITHUB_RUN_ID: "" }, url: undefined },
    {
      name: "GitLab",
      env: { CI_JOB_URL: "https://ci.example/a/-/jobs/1" },
      url: "https://ci.example/a/-/jobs/1",
    },
    { name: "Jenkins", env: { BUILD_URL: "http://ci.example/job/a/1/" }, url: "http://ci.example/job/a/1/" },
    { name: "CircleCI", env: { CIRCLE_BUILD_URL: "https://c.example/1" }, url: "https://c.example/1" },
    {
      name: "Buildkite",
      env: { BUILDKITE_BUILD_URL: "https://b.example/o/p/builds/1" },
      url: "https://b.example/o/p/builds/1",
    },
    {
      name: "Azure Pipelines",
      env: {
        SYSTEM_COLLECTIONURI: "https://dev.example/shop/",
        SYSTEM_TEAMPROJECT: "Our drafts",
        BUILD_BUILDID: "17",
      },
      url: "https://dev.example/shop/Our%20drafts/_build/results?buildId=17",
    },
    {
      name: "a URL with a password",
      env: { CI_JOB_URL: "https://user:canary@ci.example/1" },
      url: "https://ci.example/1",
    },
    { name: "text that is not a URL", env: { CI_JOB_URL: "yes" }, url: undefined },
    { name: "a script URL", env: { CI_JOB_URL: "javascript:alert(1)" }, url: undefined },
    {
      name: "an empty variable before one with a URL",
      env: { CI_JOB_URL: "", BUILD_URL: "https://ci.example/2" },
      url: "https://ci.example/2",
    },
  ])("returns the job of $name", ({ env, url }) => {
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
    { name: "no CI system", env: {}, folder: "/checkout", url: undefined },
    {
      name: "GitHub",
      env: checkout,
      folder: "/checkout",
      url: "https://github.example/shop/drafts/blob/4f1c",
    },
    {
      name: "a folder of the checkout",
      env: checkout,
      folder: "/checkout/my shops/a",
      url: "https://github.example/shop/drafts/blob/4f1c/my%20shops/a",
    },
    { name: "a folder outside the checkout", env: checkout, folder: "/tmp", url: undefined },
    {
      name: "GitLab",
      env: gitlab,
      folder: "/builds/shop/a",
      url: "https://git.example/shop/drafts/-/blob/4f1c/a",
    },
  ])("returns the source of $name", ({ env, folder, url }) => {
    expect(ciSourceUrl(env, folder)).toBe(url);
  });
});
