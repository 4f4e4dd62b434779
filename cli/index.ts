#!/usr/bin/env node
console.log("pm-cli");
