// SPDX-License-Identifier: Apache-2.0

// Each file of assets/ as an array, with C23 #embed: the compiler rebuilds this file when one of them changes.
#include "cweb.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

#define HTML "text/html; charset=utf-8"
#define CSS "text/css; charset=utf-8"
#define JAVASCRIPT "text/javascript; charset=utf-8"
#define JSON "application/json"
#define SVG "image/svg+xml"

static const unsigned char about_js[] = {
#embed "assets/about.js"
};
static const unsigned char account_css[] = {
#embed "assets/account.css"
};
static const unsigned char account_html[] = {
#embed "assets/account.html"
};
static const unsigned char account_js[] = {
#embed "assets/account.js"
};
static const unsigned char admin_access_js[] = {
#embed "assets/admin-access.js"
};
static const unsigned char admin_account_js[] = {
#embed "assets/admin-account.js"
};
static const unsigned char admin_accounts_js[] = {
#embed "assets/admin-accounts.js"
};
static const unsigned char admin_api_js[] = {
#embed "assets/admin-api.js"
};
static const unsigned char admin_audit_js[] = {
#embed "assets/admin-audit.js"
};
static const unsigned char admin_canned_js[] = {
#embed "assets/admin-canned.js"
};
static const unsigned char admin_catalog_js[] = {
#embed "assets/admin-catalog.js"
};
static const unsigned char admin_chart_js[] = {
#embed "assets/admin-chart.js"
};
static const unsigned char admin_devices_js[] = {
#embed "assets/admin-devices.js"
};
static const unsigned char admin_door_js[] = {
#embed "assets/admin-door.js"
};
static const unsigned char admin_explain_js[] = {
#embed "assets/admin-explain.js"
};
static const unsigned char admin_health_js[] = {
#embed "assets/admin-health.js"
};
static const unsigned char admin_holdings_js[] = {
#embed "assets/admin-holdings.js"
};
static const unsigned char admin_keys_js[] = {
#embed "assets/admin-keys.js"
};
static const unsigned char admin_list_js[] = {
#embed "assets/admin-list.js"
};
static const unsigned char admin_orders_js[] = {
#embed "assets/admin-orders.js"
};
static const unsigned char admin_parts_js[] = {
#embed "assets/admin-parts.js"
};
static const unsigned char admin_personal_js[] = {
#embed "assets/admin-personal.js"
};
static const unsigned char admin_plans_js[] = {
#embed "assets/admin-plans.js"
};
static const unsigned char admin_players_js[] = {
#embed "assets/admin-players.js"
};
static const unsigned char admin_question_js[] = {
#embed "assets/admin-question.js"
};
static const unsigned char admin_receipts_js[] = {
#embed "assets/admin-receipts.js"
};
static const unsigned char admin_sessions_js[] = {
#embed "assets/admin-sessions.js"
};
static const unsigned char admin_staff_js[] = {
#embed "assets/admin-staff.js"
};
static const unsigned char admin_css[] = {
#embed "assets/admin.css"
};
static const unsigned char admin_html[] = {
#embed "assets/admin.html"
};
static const unsigned char admin_js[] = {
#embed "assets/admin.js"
};
static const unsigned char admin_upload_js[] = {
#embed "assets/admin-upload.js"
};
static const unsigned char aes_js[] = {
#embed "assets/aes.js"
};
static const unsigned char api_js[] = {
#embed "assets/api.js"
};
static const unsigned char bookmarks_js[] = {
#embed "assets/bookmarks.js"
};
static const unsigned char chapters_js[] = {
#embed "assets/chapters.js"
};
static const unsigned char cover_js[] = {
#embed "assets/cover.js"
};
static const unsigned char decrypt_js[] = {
#embed "assets/decrypt.js"
};
static const unsigned char device_js[] = {
#embed "assets/device.js"
};
static const unsigned char dom_js[] = {
#embed "assets/dom.js"
};
static const unsigned char door_html[] = {
#embed "assets/door.html"
};
static const unsigned char engines_js[] = {
#embed "assets/engines.js"
};
static const unsigned char format_js[] = {
#embed "assets/format.js"
};
static const unsigned char frames_js[] = {
#embed "assets/frames.js"
};
static const unsigned char history_js[] = {
#embed "assets/history.js"
};
static const unsigned char icons_svg[] = {
#embed "assets/icons.svg"
};
static const unsigned char language_js[] = {
#embed "assets/language.js"
};
static const unsigned char link_confirm_part[] = {
#embed "assets/link-confirm.part"
};
static const unsigned char link_device_part[] = {
#embed "assets/link-device.part"
};
static const unsigned char link_done_part[] = {
#embed "assets/link-done.part"
};
static const unsigned char link_ended_part[] = {
#embed "assets/link-ended.part"
};
static const unsigned char listen_css[] = {
#embed "assets/listen.css"
};
static const unsigned char listen_html[] = {
#embed "assets/listen.html"
};
static const unsigned char listen_js[] = {
#embed "assets/listen.js"
};
static const unsigned char listening_js[] = {
#embed "assets/listening.js"
};
static const unsigned char mark_svg[] = {
#embed "assets/mark.svg"
};
static const unsigned char media_session_js[] = {
#embed "assets/media-session.js"
};
static const unsigned char mse_engine_js[] = {
#embed "assets/mse-engine.js"
};
static const unsigned char mux_fmp4_js[] = {
#embed "assets/mux-fmp4.js"
};
static const unsigned char native_engine_js[] = {
#embed "assets/native-engine.js"
};
static const unsigned char not_found_part[] = {
#embed "assets/not-found.part"
};
static const unsigned char newest_js[] = {
#embed "assets/newest.js"
};
static const unsigned char notice_js[] = {
#embed "assets/notice.js"
};
static const unsigned char openapi_json[] = {
#embed "assets/openapi.json"
};
static const unsigned char outbox_js[] = {
#embed "assets/outbox.js"
};
static const unsigned char player_js[] = {
#embed "assets/player.js"
};
static const unsigned char playlist_js[] = {
#embed "assets/playlist.js"
};
static const unsigned char positions_js[] = {
#embed "assets/positions.js"
};
static const unsigned char read_api_js[] = {
#embed "assets/read-api.js"
};
static const unsigned char read_book_js[] = {
#embed "assets/read-book.js"
};
static const unsigned char read_drawn_js[] = {
#embed "assets/read-drawn.js"
};
static const unsigned char read_frame_js[] = {
#embed "assets/read-frame.js"
};
static const unsigned char read_keys_js[] = {
#embed "assets/read-keys.js"
};
static const unsigned char read_license_js[] = {
#embed "assets/read-license.js"
};
static const unsigned char read_look_js[] = {
#embed "assets/read-look.js"
};
static const unsigned char read_media_js[] = {
#embed "assets/read-media.js"
};
static const unsigned char read_notes_js[] = {
#embed "assets/read-notes.js"
};
static const unsigned char read_pages_js[] = {
#embed "assets/read-pages.js"
};
static const unsigned char read_picture_js[] = {
#embed "assets/read-picture.js"
};
static const unsigned char read_rights_js[] = {
#embed "assets/read-rights.js"
};
static const unsigned char read_scroll_js[] = {
#embed "assets/read-scroll.js"
};
static const unsigned char read_search_js[] = {
#embed "assets/read-search.js"
};
static const unsigned char read_styles_js[] = {
#embed "assets/read-styles.js"
};
static const unsigned char read_words_js[] = {
#embed "assets/read-words.js"
};
static const unsigned char read_css[] = {
#embed "assets/read.css"
};
static const unsigned char read_html[] = {
#embed "assets/read.html"
};
static const unsigned char read_js[] = {
#embed "assets/read.js"
};
static const unsigned char reading_js[] = {
#embed "assets/reading.js"
};
static const unsigned char refusals_js[] = {
#embed "assets/refusals.js"
};
static const unsigned char reset_part[] = {
#embed "assets/reset.part"
};
static const unsigned char resume_sheet_js[] = {
#embed "assets/resume-sheet.js"
};
static const unsigned char resume_js[] = {
#embed "assets/resume.js"
};
static const unsigned char segments_js[] = {
#embed "assets/segments.js"
};
static const unsigned char sheet_js[] = {
#embed "assets/sheet.js"
};
static const unsigned char shelf_css[] = {
#embed "assets/shelf.css"
};
static const unsigned char shelf_html[] = {
#embed "assets/shelf.html"
};
static const unsigned char shelf_js[] = {
#embed "assets/shelf.js"
};
static const unsigned char shortcuts_js[] = {
#embed "assets/shortcuts.js"
};
static const unsigned char sign_in_link_part[] = {
#embed "assets/sign-in-link.part"
};
static const unsigned char sign_in_part[] = {
#embed "assets/sign-in.part"
};
static const unsigned char sign_on_failed_part[] = {
#embed "assets/sign-on-failed.part"
};
static const unsigned char sleep_sheet_js[] = {
#embed "assets/sleep-sheet.js"
};
static const unsigned char sleep_js[] = {
#embed "assets/sleep.js"
};
static const unsigned char slider_js[] = {
#embed "assets/slider.js"
};
static const unsigned char sound_output_js[] = {
#embed "assets/sound-output.js"
};
static const unsigned char speed_sheet_js[] = {
#embed "assets/speed-sheet.js"
};
static const unsigned char status_js[] = {
#embed "assets/status.js"
};
static const unsigned char store_js[] = {
#embed "assets/store.js"
};
static const unsigned char style_css[] = {
#embed "assets/style.css"
};
static const unsigned char tabs_js[] = {
#embed "assets/tabs.js"
};
static const unsigned char transport_js[] = {
#embed "assets/transport.js"
};
static const unsigned char volume_sheet_js[] = {
#embed "assets/volume-sheet.js"
};

#define ASSET(symbol, name, type) { name, type, symbol, sizeof symbol }

static const struct cweb_asset table[] = {
    ASSET(about_js, "about.js", JAVASCRIPT),
    ASSET(account_css, "account.css", CSS),
    ASSET(account_html, "account.html", HTML),
    ASSET(account_js, "account.js", JAVASCRIPT),
    ASSET(admin_access_js, "admin-access.js", JAVASCRIPT),
    ASSET(admin_account_js, "admin-account.js", JAVASCRIPT),
    ASSET(admin_accounts_js, "admin-accounts.js", JAVASCRIPT),
    ASSET(admin_api_js, "admin-api.js", JAVASCRIPT),
    ASSET(admin_audit_js, "admin-audit.js", JAVASCRIPT),
    ASSET(admin_canned_js, "admin-canned.js", JAVASCRIPT),
    ASSET(admin_catalog_js, "admin-catalog.js", JAVASCRIPT),
    ASSET(admin_chart_js, "admin-chart.js", JAVASCRIPT),
    ASSET(admin_devices_js, "admin-devices.js", JAVASCRIPT),
    ASSET(admin_door_js, "admin-door.js", JAVASCRIPT),
    ASSET(admin_explain_js, "admin-explain.js", JAVASCRIPT),
    ASSET(admin_health_js, "admin-health.js", JAVASCRIPT),
    ASSET(admin_holdings_js, "admin-holdings.js", JAVASCRIPT),
    ASSET(admin_keys_js, "admin-keys.js", JAVASCRIPT),
    ASSET(admin_list_js, "admin-list.js", JAVASCRIPT),
    ASSET(admin_orders_js, "admin-orders.js", JAVASCRIPT),
    ASSET(admin_parts_js, "admin-parts.js", JAVASCRIPT),
    ASSET(admin_personal_js, "admin-personal.js", JAVASCRIPT),
    ASSET(admin_plans_js, "admin-plans.js", JAVASCRIPT),
    ASSET(admin_players_js, "admin-players.js", JAVASCRIPT),
    ASSET(admin_question_js, "admin-question.js", JAVASCRIPT),
    ASSET(admin_receipts_js, "admin-receipts.js", JAVASCRIPT),
    ASSET(admin_sessions_js, "admin-sessions.js", JAVASCRIPT),
    ASSET(admin_staff_js, "admin-staff.js", JAVASCRIPT),
    ASSET(admin_css, "admin.css", CSS),
    ASSET(admin_html, "admin.html", HTML),
    ASSET(admin_js, "admin.js", JAVASCRIPT),
    ASSET(admin_upload_js, "admin-upload.js", JAVASCRIPT),
    ASSET(aes_js, "aes.js", JAVASCRIPT),
    ASSET(api_js, "api.js", JAVASCRIPT),
    ASSET(bookmarks_js, "bookmarks.js", JAVASCRIPT),
    ASSET(chapters_js, "chapters.js", JAVASCRIPT),
    ASSET(cover_js, "cover.js", JAVASCRIPT),
    ASSET(decrypt_js, "decrypt.js", JAVASCRIPT),
    ASSET(device_js, "device.js", JAVASCRIPT),
    ASSET(dom_js, "dom.js", JAVASCRIPT),
    ASSET(door_html, "door.html", HTML),
    ASSET(engines_js, "engines.js", JAVASCRIPT),
    ASSET(format_js, "format.js", JAVASCRIPT),
    ASSET(frames_js, "frames.js", JAVASCRIPT),
    ASSET(history_js, "history.js", JAVASCRIPT),
    ASSET(icons_svg, "icons.svg", SVG),
    ASSET(language_js, "language.js", JAVASCRIPT),
    ASSET(link_confirm_part, "link-confirm.part", HTML),
    ASSET(link_device_part, "link-device.part", HTML),
    ASSET(link_done_part, "link-done.part", HTML),
    ASSET(link_ended_part, "link-ended.part", HTML),
    ASSET(listen_css, "listen.css", CSS),
    ASSET(listen_html, "listen.html", HTML),
    ASSET(listen_js, "listen.js", JAVASCRIPT),
    ASSET(listening_js, "listening.js", JAVASCRIPT),
    ASSET(mark_svg, "mark.svg", SVG),
    ASSET(media_session_js, "media-session.js", JAVASCRIPT),
    ASSET(mse_engine_js, "mse-engine.js", JAVASCRIPT),
    ASSET(mux_fmp4_js, "mux-fmp4.js", JAVASCRIPT),
    ASSET(native_engine_js, "native-engine.js", JAVASCRIPT),
    ASSET(not_found_part, "not-found.part", HTML),
    ASSET(newest_js, "newest.js", JAVASCRIPT),
    ASSET(notice_js, "notice.js", JAVASCRIPT),
    ASSET(openapi_json, "openapi.json", JSON),
    ASSET(outbox_js, "outbox.js", JAVASCRIPT),
    ASSET(player_js, "player.js", JAVASCRIPT),
    ASSET(playlist_js, "playlist.js", JAVASCRIPT),
    ASSET(positions_js, "positions.js", JAVASCRIPT),
    ASSET(read_api_js, "read-api.js", JAVASCRIPT),
    ASSET(read_book_js, "read-book.js", JAVASCRIPT),
    ASSET(read_drawn_js, "read-drawn.js", JAVASCRIPT),
    ASSET(read_frame_js, "read-frame.js", JAVASCRIPT),
    ASSET(read_keys_js, "read-keys.js", JAVASCRIPT),
    ASSET(read_license_js, "read-license.js", JAVASCRIPT),
    ASSET(read_look_js, "read-look.js", JAVASCRIPT),
    ASSET(read_media_js, "read-media.js", JAVASCRIPT),
    ASSET(read_notes_js, "read-notes.js", JAVASCRIPT),
    ASSET(read_pages_js, "read-pages.js", JAVASCRIPT),
    ASSET(read_picture_js, "read-picture.js", JAVASCRIPT),
    ASSET(read_rights_js, "read-rights.js", JAVASCRIPT),
    ASSET(read_scroll_js, "read-scroll.js", JAVASCRIPT),
    ASSET(read_search_js, "read-search.js", JAVASCRIPT),
    ASSET(read_styles_js, "read-styles.js", JAVASCRIPT),
    ASSET(read_words_js, "read-words.js", JAVASCRIPT),
    ASSET(read_css, "read.css", CSS),
    ASSET(read_html, "read.html", HTML),
    ASSET(read_js, "read.js", JAVASCRIPT),
    ASSET(reading_js, "reading.js", JAVASCRIPT),
    ASSET(refusals_js, "refusals.js", JAVASCRIPT),
    ASSET(reset_part, "reset.part", HTML),
    ASSET(resume_sheet_js, "resume-sheet.js", JAVASCRIPT),
    ASSET(resume_js, "resume.js", JAVASCRIPT),
    ASSET(segments_js, "segments.js", JAVASCRIPT),
    ASSET(sheet_js, "sheet.js", JAVASCRIPT),
    ASSET(shelf_css, "shelf.css", CSS),
    ASSET(shelf_html, "shelf.html", HTML),
    ASSET(shelf_js, "shelf.js", JAVASCRIPT),
    ASSET(shortcuts_js, "shortcuts.js", JAVASCRIPT),
    ASSET(sign_in_link_part, "sign-in-link.part", HTML),
    ASSET(sign_in_part, "sign-in.part", HTML),
    ASSET(sign_on_failed_part, "sign-on-failed.part", HTML),
    ASSET(sleep_sheet_js, "sleep-sheet.js", JAVASCRIPT),
    ASSET(sleep_js, "sleep.js", JAVASCRIPT),
    ASSET(slider_js, "slider.js", JAVASCRIPT),
    ASSET(sound_output_js, "sound-output.js", JAVASCRIPT),
    ASSET(speed_sheet_js, "speed-sheet.js", JAVASCRIPT),
    ASSET(status_js, "status.js", JAVASCRIPT),
    ASSET(store_js, "store.js", JAVASCRIPT),
    ASSET(style_css, "style.css", CSS),
    ASSET(tabs_js, "tabs.js", JAVASCRIPT),
    ASSET(transport_js, "transport.js", JAVASCRIPT),
    ASSET(volume_sheet_js, "volume-sheet.js", JAVASCRIPT),
};

size_t cweb_count(void) { return sizeof table / sizeof table[0]; }

struct cweb_asset cweb_at(size_t index) { return table[index]; }
