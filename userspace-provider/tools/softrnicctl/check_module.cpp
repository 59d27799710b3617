// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "check.hpp"
#include "descriptor.hpp"
#include "module.hpp"
#include "process.hpp"

namespace softrnic::ctl {
namespace {

/// What modinfo(8) knows of a module that is installed for this kernel; empty: nothing.
std::string modinfo(const std::string& field, const std::string& module) {
    outcome<ended_process> ended = run_program({"modinfo", "-F", field, module});
    return ended && ended->status == 0 ? ended->output : "";
}

bool kernel_has(const std::string& module) {
    return exists("/sys/module/" + module) || !modinfo("filename", module).empty();
}

check check_kernel(const std::string& release) {
    std::string missing;
    for (const char* module : {"ib_core", "ib_uverbs", "iw_cm", "rdma_cm", "rdma_ucm"}) {
        if (!kernel_has(module)) missing += std::string(" ") + module;
    }
    if (missing.empty()) return {verdict::ok, "kernel", release + " has InfiniBand"};
    return {
        verdict::wrong, "kernel",
        release + " has no" + missing + ", which softrnic needs: install and boot another kernel",
        "apt install linux-image-$(dpkg --print-architecture) "
        "linux-headers-$(dpkg --print-architecture)"};
}

check check_headers(const std::string& release, bool installed) {
    if (exists("/lib/modules/" + release + "/build/Makefile"))
        return {verdict::ok, "headers", "those of " + release + " are installed"};
    const std::string install = "apt install linux-headers-" + release;
    if (installed)
        return {verdict::ok, "headers",
                "not installed; they are needed for the next update of softrnic", install};
    return {
        verdict::wrong, "headers",
        "those of " + release +
            " are not installed; where they cannot be had any more, upgrade the kernel and reboot",
        install};
}

/// The units of links that are enabled do not see that these have gone.
constexpr const char* exchange_command =
    "rmmod softrnic && modprobe softrnic && systemctl restart 'softrnic-link@*'";

/// Nothing if it cannot be told.
std::optional<bool> another_is_loaded() {
    const auto running = read_line("/sys/module/softrnic/srcversion");
    const std::string on_disk = modinfo("srcversion", "softrnic");
    if (!running || on_disk.empty()) return std::nullopt;
    return *running != on_disk;
}

check check_versions(const std::string& release, bool installed) {
    const bool loaded = module_loaded();
    if (!loaded && !installed)
        return {verdict::wrong, "module", "not installed for " + release, install_command()};
    if (!loaded)
        return {verdict::ok, "module",
                modinfo("version", "softrnic") +
                    " is installed, and not loaded; \"softrnicctl add\" loads it"};
    const std::string version = read_line("/sys/module/softrnic/version").value_or("?");
    if (!installed)
        return {verdict::wrong, "module",
                version + " is loaded, and none is installed for " + release, install_command()};
    const std::optional<bool> another = another_is_loaded();
    if (!another)
        return {verdict::unknown, "module",
                version + " is loaded; whether it is what is installed cannot be told",
                "modinfo softrnic"};
    if (*another)
        return {verdict::wrong, "module",
                version + " is loaded, and " + modinfo("version", "softrnic") +
                    ", another one, is installed; links go, and those that are enabled come again",
                exchange_command};
    return {verdict::ok, "module", version + " is loaded and installed"};
}

enum class secure_boot { on, off, unknown };

/// The variable of UEFI: four bytes of attributes, and a byte that is 1 or 0.
secure_boot read_secure_boot() {
    constexpr const char* firmware = "/sys/firmware/efi";
    constexpr const char* variable =
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    if (!exists(firmware)) return secure_boot::off;
    std::ifstream file(variable, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (content.size() != 5) return secure_boot::unknown;
    return content.back() == 1 ? secure_boot::on : secure_boot::off;
}

/// Whether the kernel refuses modules without a signature. Secure Boot alone does not; Debian's
/// kernels lock themselves down with it.
std::optional<bool> signature_is_enforced() {
    const auto lockdown = read_line("/sys/kernel/security/lockdown");
    const auto enforced = read_line("/sys/module/module/parameters/sig_enforce");
    if (enforced && *enforced == "Y") return true;
    if (lockdown) return lockdown->find("[none]") == std::string::npos;
    if (read_secure_boot() == secure_boot::off) return false;
    return std::nullopt;
}

/// The kernel's keys have the names of their owners.
std::optional<bool> kernel_knows(const std::string& signer) {
    std::ifstream file("/proc/keys");
    if (!file) return std::nullopt;
    for (std::string line; std::getline(file, line);) {
        if (line.find("asymmetri") != std::string::npos &&
            line.find(" " + signer + ":") != std::string::npos)
            return true;
    }
    return false;
}

std::string sign_command(const std::string& release) {
    const std::string file = modinfo("filename", "softrnic");
    if (file.find("/updates/dkms/") == std::string::npos)
        return "/lib/modules/" + release + "/build/scripts/sign-file sha256 mok.key mok.der " +
               file;
    // It signs what it builds if it finds openssl.
    const std::string module = "softrnic/" + modinfo("version", "softrnic") + " -k " + release;
    return "apt install openssl && dkms build --force " + module + " && dkms install --force " +
           module;
}

std::string boot_text() {
    switch (read_secure_boot()) {
        case secure_boot::on: return "Secure Boot is on";
        case secure_boot::off: return "Secure Boot is off";
        case secure_boot::unknown: break;
    }
    return "the state of Secure Boot cannot be read";
}

check check_signature(const std::string& release) {
    const std::string boot = boot_text();
    const std::string signer = modinfo("signer", "softrnic");
    const std::string by = signer.empty() ? "it is not signed" : "it is signed by " + signer;
    if (module_loaded())
        return {verdict::ok, "signature", boot + "; the kernel has loaded the module; " + by};
    const std::optional<bool> enforced = signature_is_enforced();
    if (enforced == false)
        return {verdict::ok, "signature", boot + "; the kernel wants no signature; " + by};
    if (!enforced)
        return {verdict::unknown, "signature",
                boot + "; whether the kernel wants a signature cannot be told; " + by,
                "modprobe softrnic"};
    if (signer.empty())
        return {verdict::wrong, "signature", boot + "; the kernel wants a signature; " + by,
                sign_command(release)};
    const std::optional<bool> known = kernel_knows(signer);
    // Others than root are not shown all keys.
    if (!known || (!*known && geteuid() != 0))
        return {verdict::unknown, "signature",
                by + "; whether the kernel knows the key cannot be told", "modprobe softrnic"};
    if (*known) return {verdict::ok, "signature", by + "; the kernel knows a key of that name"};
    const std::string key = exists("/var/lib/dkms/mok.pub") ? "/var/lib/dkms/mok.pub" : "mok.der";
    return {verdict::wrong, "signature", by + ", whose key the kernel does not know",
            "mokutil --import " + key + " && reboot # and enrol it in the menu at boot"};
}

/// The package has the module's source there.
bool is_packaged() {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/src", error)) {
        if (entry.path().filename().native().starts_with("softrnic-")) return true;
    }
    return false;
}

/// What "make install" has installed it records.
bool was_made_here() {
    return exists("/var/lib/softrnic/installed") && !is_packaged();
}

}  // namespace

std::string install_command() {
    if (was_made_here()) return "make && make install";
    if (is_packaged()) return "dkms autoinstall -k " + kernel_release();
    return "apt install ./softrnic-dkms_*.deb ./ibverbs-provider-softrnic_*.deb";
}

// A build for another rdma-core keeps to that one.
std::string install_provider_command() {
    if (was_made_here()) return "make clean && make && make install";
    return "apt install --reinstall ./ibverbs-provider-softrnic_*.deb";
}

std::string mend_misfit_command() {
    return another_is_loaded() == true ? exchange_command : install_provider_command();
}

checks check_module() {
    const std::string release = kernel_release();
    const bool installed = !modinfo("filename", "softrnic").empty();
    // What is in front has to be mended first.
    checks found = {check_kernel(release), check_headers(release, installed),
                    check_versions(release, installed)};
    if (installed) found.push_back(check_signature(release));
    return found;
}

}  // namespace softrnic::ctl
